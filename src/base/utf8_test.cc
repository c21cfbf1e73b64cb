#include "base/utf8.h"

#include <gtest/gtest.h>

namespace lattice {
namespace {

TEST(Utf8Test, EveryScalarRoundTrips) {
  for (char32_t c = 0; c <= 0x10FFFF; ++c) {
    if (c >= 0xD800 && c <= 0xDFFF) continue;
    std::string text;
    AppendUtf8(c, text);
    const Utf8Step step = DecodeUtf8(text);
    ASSERT_TRUE(step.valid);
    ASSERT_EQ(step.scalar, c);
    ASSERT_EQ(step.n_bytes, text.size());
  }
}

TEST(Utf8Test, IllFormedSequencesBecomeMaximalSubparts) {
  const std::string u = "\xEF\xBF\xBD";
  EXPECT_EQ(ToValidUtf8("\xC0\x80"), u + u);                  // overlong
  EXPECT_EQ(ToValidUtf8("\xE0\x80\xAF"), u + u + u);          // overlong
  EXPECT_EQ(ToValidUtf8("\xED\xA0\x80"), u + u + u);          // surrogate
  EXPECT_EQ(ToValidUtf8("\xF4\x90\x80\x80"), u + u + u + u);  // above U+10FFFF
  EXPECT_EQ(ToValidUtf8("\xE2\x82"
                        "a"),
            u + "a");                         // cut short
  EXPECT_EQ(ToValidUtf8("\xF0\x9F\x98"), u);  // cut by the end
  EXPECT_EQ(ToValidUtf8("\xF0\x9F\x98\x80"), "\xF0\x9F\x98\x80");
  EXPECT_FALSE(IsValidUtf8("\x80"));
  EXPECT_TRUE(IsValidUtf8(""));
}

}  // namespace
}  // namespace lattice
