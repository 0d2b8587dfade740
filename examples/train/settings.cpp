// SPDX-License-Identifier: MIT
#include "settings.hpp"

#include <cmath>
#include <cstdio>
#include <stdexcept>

namespace train {

const char* name_of(Encoding encoding) {
    switch (encoding) {
        case Encoding::none: return "none";
        case Encoding::sinusoidal: return "sinusoidal";
        case Encoding::learned: return "learned";
        case Encoding::t5: return "t5";
        case Encoding::alibi: return "alibi";
        case Encoding::rotary: return "rotary";
        case Encoding::rotary_interleaved: return "rotary-interleaved";
        case Encoding::rotary_learned: break;
    }
    return "rotary-learned";
}

const char* name_of(Attention attention) {
    return attention == Attention::softmax ? "softmax" : attention == Attention::favor ? "favor" : "elu";
}

std::string run_name(const Shape& shape, bool with_seed) {
    std::string name = name_of(shape.encoding);
    if (shape.rotary_dim > 0) name += std::to_string(shape.rotary_dim);
    if (shape.is_linear() && rotates(shape.encoding))
        name += shape.rotate_at == RotateAt::before ? "-before" : "-after";
    if (shape.base != Shape().base) name += "-base" + std::to_string(std::llround(shape.base));
    name += std::string("-") + name_of(shape.attention);
    if (shape.window > 0) name += "-window" + std::to_string(shape.window);
    return with_seed ? name + "-" + std::to_string(shape.seed) : name;
}

std::string describe(const Settings& s) {
    char rate[32];
    std::snprintf(rate, sizeof rate, "%.17g", s.learning_rate);
    return run_name(s.shape) + ", dim " + std::to_string(s.shape.dim) + ", layers " + std::to_string(s.shape.layers) +
           ", heads " + std::to_string(s.shape.heads) + ", context " + std::to_string(s.shape.context) + ", features " +
           std::to_string(s.shape.features) + ", batch " + std::to_string(s.batch) + ", steps " +
           std::to_string(s.steps) + ", learning rate " + rate;
}

void check(const Settings& s) {
    const Shape& shape = s.shape;
    const auto refuse = [](const std::string& sentence) { throw std::runtime_error(sentence); };
    if (shape.dim % shape.heads != 0 || shape.head_dim() % 2 != 0)
        refuse("The width is " + std::to_string(shape.dim) + " and there are " + std::to_string(shape.heads) +
               " heads; --dim must be a multiple of twice --heads.");
    if (shape.rotary_dim % 2 != 0 || shape.rotary_dim > shape.head_dim())
        refuse("The value of --rotary-dim is " + std::to_string(shape.rotary_dim) +
               "; it must be even and at most the features of a head, " + std::to_string(shape.head_dim()) + ".");
    if (shape.rotary_dim != 0 && !rotates(shape.encoding))
        refuse(std::string("The option --rotary-dim is of no use with --encoding ") + name_of(shape.encoding) + ".");
    if (shape.rotate_at == RotateAt::after && (!shape.is_linear() || !rotates(shape.encoding)))
        refuse("The option --rotate after needs a rotary encoding and linear attention, favor or elu.");
    if (shape.rotate_at == RotateAt::after && shape.rotary_dim != 0)
        refuse("The option --rotary-dim counts features of queries and keys, which --rotate after does not rotate.");
    if (shape.rotate_at == RotateAt::after && shape.feature_dim() % 2 != 0)
        refuse("The value of --features is " + std::to_string(shape.features) + "; features that rotate must be even.");
    if (shape.is_linear() && has_score_bias(shape.encoding))
        refuse(std::string("The encoding ") + name_of(shape.encoding) +
               " adds to scores, which linear attention does not have; use --attention softmax.");
    if (shape.window >= shape.context)
        refuse("The value of --window is " + std::to_string(shape.window) + "; it must be less than --context, " +
               std::to_string(shape.context) + ", as more would hide nothing.");
    if (shape.window > 0 && shape.is_linear())
        refuse(std::string("The option --window is of no use with --attention ") + name_of(shape.attention) + ".");
    if (shape.base != Shape().base && !rotates(shape.encoding))
        refuse(std::string("The option --base is of no use with --encoding ") + name_of(shape.encoding) + ".");
    if (shape.encoding == Encoding::alibi && (shape.heads & (shape.heads - 1)) != 0)
        refuse("There are " + std::to_string(shape.heads) + " heads; ALiBi needs a power of two.");
}

}  // namespace train
