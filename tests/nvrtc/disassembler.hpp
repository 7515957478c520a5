// SASS of a cubin through nvdisasm or cuobjdump, whichever MSDA_TEST_NVDISASM or MSDA_TEST_CUOBJDUMP names.
#pragma once

#include <optional>
#include <string>

namespace msda::test {

// False where neither tool is named: SASS is not looked at then.
bool can_disassemble();

// The listing, through a temporary file; thread-safe. Nothing where the tool does not know the cubin's architecture
// (CUDA 13's know sm_75 and newer).
std::optional<std::string> disassemble(const std::string& cubin);

}  // namespace msda::test
