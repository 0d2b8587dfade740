// SPDX-License-Identifier: MIT
// The operators rotary_cpu::rotate, of q and k, and rotary_cpu::rotate_one, for tensors of the CPU. rotary_cpu/torch.py has their
// schemas, shapes and gradients.
#include "torch_abi.h"

#include <rope/rope.h>
#include <rope/types.hpp>

#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

void must(int32_t code, const char* what) {
    if (code != 0) throw std::runtime_error(std::string("rotary_cpu: torch could not ") + what);
}

// A tensor that the operator owns.
class Tensor {
 public:
    explicit Tensor(StableIValue value) : handle_(reinterpret_cast<AtenTensorHandle>(value)) {
        must(aoti_torch_get_data_ptr(handle_, &data), "give a tensor's memory");
        must(aoti_torch_get_dim(handle_, &dimensions), "give a tensor's dimensions");
        must(aoti_torch_get_sizes(handle_, &sizes), "give a tensor's sizes");
        must(aoti_torch_get_strides(handle_, &strides), "give a tensor's strides");
        must(aoti_torch_get_dtype(handle_, &dtype), "give a tensor's dtype");
    }
    Tensor(Tensor&& other) noexcept { *this = std::move(other); }
    Tensor& operator=(Tensor&& other) noexcept {
        std::swap(handle_, other.handle_);
        data = other.data, dimensions = other.dimensions, sizes = other.sizes, strides = other.strides,
        dtype = other.dtype;
        return *this;
    }
    ~Tensor() {
        if (handle_ != nullptr) aoti_torch_delete_tensor_object(handle_);
    }

    // A new tensor like this one: what torch.empty_like makes, whose strides the fake operator promises, too.
    Tensor empty_like() const { return made_by("aten::empty_like"); }
    Tensor clone() const { return made_by("aten::clone"); }

    // One number, expanded to a shape, as the gradient of a sum is: four strides of 0 mean "contiguous" to the library.
    bool is_one_number() const {
        for (int64_t d = 0; d < dimensions; ++d) {
            if (strides[d] != 0) return false;
        }
        return true;
    }
    StableIValue release() noexcept { return reinterpret_cast<StableIValue>(std::exchange(handle_, nullptr)); }

    int64_t size(int64_t from_the_end) const {
        return dimensions >= from_the_end ? sizes[dimensions - from_the_end] : 1;
    }
    int64_t stride(int64_t from_the_end) const {
        return dimensions >= from_the_end ? strides[dimensions - from_the_end] : 0;
    }

    void* data = nullptr;
    int64_t dimensions = 0;
    int64_t *sizes = nullptr, *strides = nullptr;
    int32_t dtype = 0;

 private:
    Tensor made_by(const char* name) const {
        AtenTensorHandle own = nullptr;
        must(aoti_torch_new_tensor_handle(handle_, &own), "count a reference");
        StableIValue stack[6] = {reinterpret_cast<StableIValue>(own)};  // all other arguments, 5 or fewer: None
        must(aoti_torch_call_dispatcher(name, "", stack), "make a tensor");
        return Tensor(stack[0]);
    }

    AtenTensorHandle handle_ = nullptr;
};

[[noreturn]] void refuse(const std::string& sentence) { throw std::runtime_error("rotary_cpu: " + sentence); }

int32_t type_of(const Tensor& x, const char* name) {
    if (x.dtype == aoti_torch_dtype_float32()) return ROPE_FLOAT32;
    if (x.dtype == aoti_torch_dtype_bfloat16()) return ROPE_BFLOAT16;
    if (x.dtype == aoti_torch_dtype_float16()) return ROPE_FLOAT16;
    if (x.dtype == aoti_torch_dtype_float64()) return ROPE_FLOAT64;
    refuse(std::string(name) + " has another dtype than float64, float32, float16 and bfloat16, which are allowed.");
}

struct Options {
    int64_t pairs, rotary_offset;
    bool is_interleaved, leaves_interleaved, is_heads_first, is_transpose;
};

int32_t layout(bool is_interleaved) { return is_interleaved ? ROPE_INTERLEAVED : ROPE_HALF_SPLIT; }

rope_tensor shape_of(const Tensor& x, const char* name, bool is_heads_first) {
    if (x.dimensions != 3 && x.dimensions != 4) {
        refuse(std::string(name) + " has " + std::to_string(x.dimensions) + " dimensions; 3 and 4 are allowed.");
    }
    const int64_t seq = is_heads_first ? 2 : 3, heads = is_heads_first ? 3 : 2;
    return {sizeof(rope_tensor), type_of(x, name), x.size(4),     x.size(seq),     x.size(heads),
            x.size(1),           x.stride(4),      x.stride(seq), x.stride(heads), x.stride(1)};
}

// The numbers of a tensor [rows, n] or [batch, rows, n], of which `pairs` of each row count.
template <class T>
class Numbers {
 public:
    Numbers(const Tensor& x, const char* name, int64_t pairs)
        : data(x.data),
          type_(type_of(x, name)),
          batch_(x.size(3)),
          rows_(x.size(2)),
          pairs_(pairs),
          strides_{x.stride(3), x.stride(2), x.stride(1)} {}

    // Whether the library can read them where they are.
    bool is_readable() const {
        return type_ == (sizeof(T) == 4 ? ROPE_FLOAT32 : ROPE_FLOAT64) && (pairs_ == 1 || strides_[2] == 1) &&
               row_stride() >= pairs_ && (batch_ == 1 || strides_[0] == rows_ * row_stride());
    }
    int64_t row_stride() const { return copy_.empty() && rows_ > 1 ? strides_[1] : pairs_; }

    void copy(T sign) {
        copy_.reserve(static_cast<std::size_t>(batch_ * rows_ * pairs_));
        for (int64_t b = 0; b < batch_; ++b) {
            for (int64_t r = 0; r < rows_; ++r) {
                for (int64_t i = 0; i < pairs_; ++i)
                    copy_.push_back(sign * number(b * strides_[0] + r * strides_[1] + i * strides_[2]));
            }
        }
        data = copy_.data();
    }

    const void* data;

 private:
    T number(int64_t i) const {
        if (type_ == ROPE_FLOAT32) return static_cast<const float*>(data)[i];
        if (type_ == ROPE_FLOAT64) return static_cast<T>(static_cast<const double*>(data)[i]);
        if (type_ == ROPE_BFLOAT16) return rope::to_float(static_cast<const rope::bfloat16*>(data)[i]);
        return rope::to_float(static_cast<const rope::half*>(data)[i]);
    }
    int32_t type_;
    int64_t batch_, rows_, pairs_, strides_[3];
    std::vector<T> copy_;
};

void in_torchs_threads(void*, int64_t count, rope_work work, void* job) {
    std::pair<rope_work, void*> both(work, job);
    torch_parallel_for(
        0, count, 1,
        [](int64_t begin, int64_t end, void* context) {
            const auto& [f, j] = *static_cast<std::pair<rope_work, void*>*>(context);
            f(j, begin, end);
        },
        &both);
}

// A pass of one step. It can only rotate forward, so the transpose has negated sines.
int32_t rotate_into_other_layout(const rope_rows* rows, const rope_call& call, const Options& o, void* in,
                                 const rope_tensor& from, void* out, const rope_tensor& to,
                                 char (&message)[ROPE_MESSAGE_ROOM]) {
    rope_buffer buffers[2] = {};
    buffers[0].data = in;
    buffers[0].shape = &from;
    buffers[1].data = out;
    buffers[1].shape = &to;
    rope_heads heads[2] = {};
    for (int i = 0; i < 2; ++i) {
        buffers[i].size = sizeof(rope_buffer);
        heads[i].size = sizeof(rope_heads);
        heads[i].codes = buffers + i;
    }
    rope_head_step step = {};
    step.size = sizeof(step);
    step.kind = ROPE_ROTATE;
    step.layout = layout(o.leaves_interleaved);
    rope_path path = {};
    path.size = sizeof(path);
    path.source = heads;
    path.destination = heads + 1;
    path.steps = &step;
    path.step_count = 1;
    return rope_pass(rows, &call, nullptr, &path, 1, message, sizeof message);
}

template <class T>
void rotate_with(const Tensor* const (&in)[2], Tensor* const (&out)[2], const Tensor& cos, const Tensor& sin,
                 const Options& o) {
    const char* names[2] = {"q", "k"};
    const rope_tensor first = shape_of(*in[0], names[0], o.is_heads_first);
    const auto check = [&](bool is_right, const char* name, const Tensor& x) {
        if (is_right) return;
        std::string shape;
        for (int64_t d = 0; d < x.dimensions; ++d) shape += (d == 0 ? "" : ", ") + std::to_string(x.sizes[d]);
        refuse(std::string(name) + " has the shape [" + shape + "]; for seq " + std::to_string(first.seq) + ", batch " +
               std::to_string(first.batch) + " and " + std::to_string(o.pairs) +
               " pairs, [seq, n] and [batch or 1, seq, n] with n of at least the pairs are allowed.");
    };
    if (in[1] != nullptr) {
        const rope_tensor k = shape_of(*in[1], names[1], o.is_heads_first);
        if (k.batch != first.batch || k.seq != first.seq || k.head_dim != first.head_dim || k.type != first.type) {
            refuse("k differs from q in batch, seq, head_dim or dtype; only another number of heads is allowed.");
        }
    }
    check(o.pairs >= 1 && cos.dimensions >= 2 && cos.dimensions <= 3, "cos", cos);
    const int64_t batch = cos.size(3), rows = cos.size(2);
    check(rows == first.seq && (batch == 1 || batch == first.batch) && cos.size(1) >= o.pairs, "cos", cos);
    check(sin.dimensions == cos.dimensions && sin.size(3) == batch && sin.size(2) == rows && sin.size(1) >= o.pairs,
          "sin", sin);

    if (first.batch == 0 || first.seq == 0) return;  // results have no elements

    Numbers<T> c(cos, "cos", o.pairs), s(sin, "sin", o.pairs);
    const bool other_sines = o.is_transpose && o.is_interleaved != o.leaves_interleaved;
    if (!c.is_readable() || !s.is_readable() || c.row_stride() != s.row_stride() || other_sines) {
        c.copy(T(1));
        s.copy(other_sines ? T(-1) : T(1));
    }
    rope_wrapped w = {};
    w.size = sizeof(w);
    w.type = sizeof(T) == 4 ? ROPE_FLOAT32 : ROPE_FLOAT64;
    w.batch = batch;
    w.rows = rows;
    w.pairs = o.pairs;
    w.row_stride = c.row_stride();
    w.head_dim = first.head_dim;
    w.rotary_offset = o.rotary_offset;
    w.has_other_numbers = 1;
    char message[ROPE_MESSAGE_ROOM];
    rope_rows* made = nullptr;
    if (rope_wrap(c.data, s.data, &w, &made, message, sizeof message) != ROPE_OK) refuse(message);
    const std::unique_ptr<rope_rows, void (*)(rope_rows*)> table(made, rope_rows_free);

    rope_call call = {};
    call.size = sizeof(call);
    call.layout = layout(o.is_interleaved);
    call.executor = in_torchs_threads;
    for (int i = 0; i < 2 && in[i] != nullptr; ++i) {
        const rope_tensor from = shape_of(*in[i], names[i], o.is_heads_first),
                          to = shape_of(*out[i], names[i], o.is_heads_first);
        int32_t code = ROPE_OK;
        if (o.is_interleaved == o.leaves_interleaved) {
            call.direction = o.is_transpose ? ROPE_TRANSPOSE : ROPE_FORWARD;
            code =
                rope_apply_copy(made, &call, nullptr, in[i]->data, &from, out[i]->data, &to, message, sizeof message);
        } else {
            code = rotate_into_other_layout(made, call, o, in[i]->data, from, out[i]->data, to, message);
        }
        if (code != ROPE_OK) refuse(message);
    }
}

bool is_true(StableIValue value) {
    bool b = false;
    std::memcpy(&b, reinterpret_cast<const char*>(&value), sizeof b);
    return b;
}

// The inputs of rotate are q, k, cos, sin and the options, those of rotate_one x, cos, sin and the options.
void rotate(StableIValue* stack, int tensors) {
    Tensor x(stack[0]);
    std::vector<Tensor> rest;
    for (int i = 1; i < tensors + 2; ++i) rest.emplace_back(stack[i]);
    if (x.is_one_number()) x = x.clone();
    if (tensors == 2 && rest[0].is_one_number()) rest[0] = rest[0].clone();
    const StableIValue* given = stack + tensors + 2;
    const Options options = {static_cast<int64_t>(given[0]),
                             static_cast<int64_t>(given[1]),
                             is_true(given[2]),
                             is_true(given[3]),
                             is_true(given[4]),
                             is_true(given[5])};
    const Tensor& cos = rest[static_cast<std::size_t>(tensors - 1)];
    const Tensor& sin = rest[static_cast<std::size_t>(tensors)];
    Tensor out = x.empty_like();
    std::vector<Tensor> out_k;
    if (tensors == 2) out_k.push_back(rest[0].empty_like());
    const Tensor* const in[2] = {&x, tensors == 2 ? &rest[0] : nullptr};
    Tensor* const to[2] = {&out, tensors == 2 ? &out_k[0] : nullptr};
    if (type_of(x, "q") == ROPE_FLOAT64) {
        rotate_with<double>(in, to, cos, sin, options);
    } else {
        rotate_with<float>(in, to, cos, sin, options);
    }
    stack[0] = out.release();
    if (tensors == 2) stack[1] = out_k[0].release();
}

struct Registered {
    Registered() {
        constexpr uint64_t torch_2_10 = (uint64_t{2} << 56) | (uint64_t{10} << 48);
        TorchLibraryHandle library = nullptr;  // of the process, as long as it lives
        must(aoti_torch_library_init_impl("rotary_cpu", "CPU", __FILE__, __LINE__, &library),
             "take the operators' library");
        must(torch_library_impl(
                 library, "rotate", [](StableIValue* stack, uint64_t, uint64_t) { rotate(stack, 2); }, torch_2_10),
             "take the operator rotate");
        must(torch_library_impl(
                 library, "rotate_one", [](StableIValue* stack, uint64_t, uint64_t) { rotate(stack, 1); }, torch_2_10),
             "take the operator rotate_one");
    }
} const registered;

}  // namespace
