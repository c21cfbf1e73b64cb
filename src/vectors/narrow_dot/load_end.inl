// The first `left` < kBlock bytes at p, `padding` after them: for instruction sets without masked
// loads of bytes. Block and LoadBlock come first.

inline Block LoadEnd(const unsigned char* p, std::size_t left, int padding) {
  unsigned char bytes[kBlock];
  __builtin_memset(bytes, padding, kBlock);
  __builtin_memcpy(bytes, p, left);
  return LoadBlock(bytes);
}
