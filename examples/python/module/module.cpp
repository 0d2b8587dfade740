// SPDX-License-Identifier: MIT
// The module _core of the package rotary_cpu: rope.h for Python.
#include "config.hpp"

NB_MODULE(_core, m) {
    using namespace nanobind::literals;
    m.doc() = "Rotary position embedding on the CPU, in place, on arrays of numpy, torch and others.";
    rotary::bind_config(m);
    rotary::bind_rows(m);
    rotary::bind_rotations(m);
    rotary::bind_models(m);
    rotary::bind_passes(m);
    rotary::bind_gradients(m);
    m.def("set_threads", &rotary::set_threads, "threads"_a,
          "How many threads a call may use, 1 to 1024; at first as many as the process has processors. Calls that "
          "write less than\n"
          "1 MiB use one. The numbers written do not depend on it. rotary_cpu.torch uses torch's threads.");
    m.def("get_threads", &rotary::get_threads, "How many threads a call may use.");
    m.def("version", &rope_version, "The version of the library, '0.1.0'.");
    m.def("active_isa", &rope_active_isa,
          "The instruction set that calls use, 'avx2' for example; None if the\n"
          "environment variable ROPE_ISA names one that this machine does not have.");
}
