#pragma once

/// Aborts with the failed condition. For programmer mistakes only: nothing that a file, a prompt
/// or a network peer controls may reach a check; return an Error for those.
namespace lattice::internal {
[[noreturn]] void CheckFailed(const char* condition, const char* file, int line);
}

#define LATTICE_CHECK(condition) \
  (static_cast<bool>(condition)  \
       ? static_cast<void>(0)    \
       : ::lattice::internal::CheckFailed(#condition, __FILE__, __LINE__))

#ifdef NDEBUG
#define LATTICE_DCHECK(condition) static_cast<void>(0)
#else
#define LATTICE_DCHECK(condition) LATTICE_CHECK(condition)
#endif
