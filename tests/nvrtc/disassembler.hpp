// SASS of a cubin through the disassemblers that MSDA_TEST_NVDISASM, MSDA_TEST_NVDISASM_12 and MSDA_TEST_CUOBJDUMP name.
#pragma once

#include <optional>
#include <string>

namespace msda::test {

// False where no tool is named: SASS is not looked at then.
bool can_disassemble();

// The oldest architecture that the named tools must be able to read: 50 with CUDA 12's, 75 with CUDA 13's alone.
int oldest_disassembled();

// The listing by the first tool that knows the cubin's architecture, through a temporary file; thread-safe. Nothing where
// none does.
std::optional<std::string> disassemble(const std::string& cubin);

}  // namespace msda::test
