// SPDX-License-Identifier: MIT
// The operator as a shared library for ONNX Runtime: RotaryEmbedding of the domain kDomain, with the inputs and attributes
// of opset 23. X is float, float16 or bfloat16, the caches are float. It runs on the session's threads.
#define ORT_API_MANUAL_INIT
#include <onnxruntime_lite_custom_op.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <type_traits>

#include "rotary_embedding.hpp"

namespace {

using onnx_example::Index;
using onnx_example::Shape;

/// The domain of the nodes. The empty name is ONNX's own: the operator then replaces the built-in one, for float.
constexpr const char* kDomain = "rope";

template <class T>
onnx_example::Tensor<const T> tensor_of(const Ort::Custom::TensorBase& x) {
    return {static_cast<const T*>(x.DataRaw()), Shape(x.Shape().begin(), x.Shape().end())};
}

/// OrtT is the type of X in ONNX Runtime's interface, T the library's for the same bits.
template <class OrtT, class T>
class RotaryEmbedding {
 public:
    RotaryEmbedding(const OrtApi*, const OrtKernelInfo* info) {
        const auto attribute = [node = Ort::ConstKernelInfo(info)](const char* name) -> std::int64_t {
            try {
                return node.GetAttribute<std::int64_t>(name);
            } catch (const Ort::Exception&) {
                return 0;  // the node does not have it
            }
        };
        attributes_ = {attribute("interleaved"), attribute("num_heads"), attribute("rotary_embedding_dim")};
    }

    Ort::Status Compute(OrtKernelContext* context, const Ort::Custom::Tensor<OrtT>& x,
                        const Ort::Custom::Tensor<float>& cos, const Ort::Custom::Tensor<float>& sin,
                        std::optional<const Ort::Custom::Tensor<std::int64_t>*> position_ids,
                        Ort::Custom::Tensor<OrtT>& y) {
        const auto threads = [context](Index pieces, const auto& f) {
            using F = std::remove_reference_t<decltype(f)>;
            const auto run = [](void* call, std::size_t i) {
                (*static_cast<F*>(call))(static_cast<Index>(i), static_cast<Index>(i) + 1);
            };
            void* const call = const_cast<void*>(static_cast<const void*>(&f));
            Ort::KernelContext(context).ParallelFor(run, static_cast<std::size_t>(pieces), 0, call);
        };
        try {
            void* const out = y.Allocate(x.Shape());
            onnx_example::Tensor<const std::int64_t> ids;
            if (position_ids) ids = tensor_of<std::int64_t>(**position_ids);
            const auto in = tensor_of<T>(x);
            onnx_example::rotary_embedding<T, float>(in, tensor_of<float>(cos), tensor_of<float>(sin),
                                                     position_ids ? &ids : nullptr, {static_cast<T*>(out), in.shape},
                                                     attributes_, threads);
        } catch (const std::exception& e) {
            return Ort::Status(e.what(), ORT_INVALID_ARGUMENT);
        }
        return Ort::Status(nullptr);
    }

 private:
    onnx_example::Attributes attributes_;
};

template <class OrtT, class T>
void add(Ort::CustomOpDomain& domain) {
    static const Ort::Custom::OrtLiteCustomStruct<RotaryEmbedding<OrtT, T>> op("RotaryEmbedding",
                                                                               "CPUExecutionProvider");
    domain.Add(&op);
}

}  // namespace

extern "C" OrtStatus* RegisterCustomOps(OrtSessionOptions* options, const OrtApiBase* base) {
    const OrtApi* const api = base->GetApi(ORT_API_VERSION);
    if (api == nullptr) return base->GetApi(1)->CreateStatus(ORT_FAIL, "The operator needs a newer ONNX Runtime.");
    Ort::InitApi(api);
    try {
        static Ort::CustomOpDomain domain = [] {
            Ort::CustomOpDomain made(kDomain);
            add<float, float>(made);
            add<Ort::Float16_t, rope::half>(made);
            add<Ort::BFloat16_t, rope::bfloat16>(made);
            return made;
        }();
        Ort::UnownedSessionOptions(options).Add(domain);
    } catch (const std::exception& e) {
        return Ort::Status(e).release();
    }
    return nullptr;
}
