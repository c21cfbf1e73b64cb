#include "grammar/host_name.h"

#include <gtest/gtest.h>

#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "grammar/idna.h"

namespace lattice::grammar {
namespace {

using Random = std::mt19937_64;

std::size_t Below(Random& random, std::size_t n) { return random() % n; }

std::optional<HostName> After(std::string_view text) {
  WorkBudget work;
  std::optional<HostName> name = HostName();
  for (const char c : text) {
    if (name) name = name->Next(static_cast<std::uint8_t>(c), work);
  }
  return name;
}

bool IsName(std::string_view text) {
  const auto name = After(text);
  return name && name->is_complete();
}

std::string Letters(std::size_t n) { return std::string(n, 'a'); }

TEST(HostNameTest, NamesOfAscii) {
  for (const char* name : {"a", "7", "www.example.com", "A-1.b--2", "x", "xn", "xn.xn-a", "xn-a"}) {
    EXPECT_TRUE(IsName(name)) << name;
  }
  for (const char* no :
       {"", ".", "a.", ".a", "a..b", "-a", "a-", "a_b", "ab--c", "XN--zca", "a b"}) {
    EXPECT_FALSE(IsName(no)) << no;
  }
}

TEST(HostNameTest, Lengths) {
  EXPECT_TRUE(IsName(Letters(63)));
  EXPECT_FALSE(IsName(Letters(64)));
  const std::string three = Letters(63) + "." + Letters(63) + "." + Letters(63) + ".";
  EXPECT_TRUE(IsName(three + Letters(61)));
  EXPECT_FALSE(IsName(three + Letters(62)));
  EXPECT_FALSE(After(three + Letters(60) + "-"));
}

TEST(HostNameTest, LabelsOfOtherScripts) {
  const std::vector<std::u32string> labels{U"b\u00FCcher", U"\u4F8B\u5B50", U"\u05D0\u05D1",
                                           U"l\u00B7l", U"\u0915\u094D\u200D\u0937"};
  for (const auto& label : labels) EXPECT_TRUE(IsName("xn--" + EncodePunycode(label) + ".org"));
  const std::vector<std::u32string> wrong{
      U"B\u00FCcher",   U"\u0301a",    U"e\u0301",
      U"a\u00B7l",      U"a\u200Db",   U"\u0628\u200C\u200C\u0628",
      U"\u05D0a",       U"a\u05D0",    U"\u2603",
      U"\u00FC-",       U"ab--\u00FC", U"\u0661\u06F1",
      U"\u30FBa\u00E9", U"\U000E0061a"};
  for (const auto& label : wrong) EXPECT_FALSE(IsName("xn--" + EncodePunycode(label)));
  for (const char* no : {"xn--", "xn--a", "xn--a-", "xn---9uc", "xn--99999999", "xn--ZCA"}) {
    EXPECT_FALSE(IsName(no)) << no;
  }
}

TEST(HostNameTest, DirectionsOfANamesLabels) {
  const std::string hebrew = "xn--" + EncodePunycode(U"\u05D0\u05D1");
  EXPECT_TRUE(IsName("a." + hebrew + ".b"));
  EXPECT_FALSE(IsName("1a." + hebrew));
  EXPECT_FALSE(IsName(hebrew + ".1a"));
  EXPECT_TRUE(IsName(hebrew + ".xn--" + EncodePunycode(U"\u00FC1")));
  EXPECT_FALSE(IsName(hebrew + ".xn--" + EncodePunycode(U"1\u00FC")));
}

TEST(HostNameTest, PunycodeRoundTrip) {
  Random random(1);
  for (int i = 0; i < 2000; ++i) {
    std::u32string label;
    for (std::size_t n = 1 + Below(random, 12); n > 0; --n) {
      const std::size_t code =
          Below(random, 2) == 0 ? 'a' + Below(random, 26) : 0x80 + Below(random, 0x10FF80);
      const auto c = static_cast<char32_t>(code);
      if (IsLabelCharacter(c)) label.push_back(c);
    }
    const Decoded decoded = DecodePunycode(EncodePunycode(label));
    ASSERT_EQ(decoded.end, Decoded::End::kWhole);
    ASSERT_EQ(decoded.label, label);
  }
}

// From each state some byte goes on or the name is complete, up to the very limits.
TEST(HostNameTest, NoBeginningIsADeadEnd) {
  Random random(1);
  constexpr std::string_view kChars = "abcdefghijklmnopqrstuvwxyz0123456789-.";
  WorkBudget work;
  for (int walk = 0; walk < 40; ++walk) {
    std::string text = walk % 2 == 0 ? "xn--"
                                     : Letters(63) + "." + Letters(63) + "." + Letters(61) + "." +
                                           Letters(Below(random, 50)) + "a.xn--";
    // Labels that run into their limit: no dots while others can come.
    std::optional<HostName> name = After(text);
    ASSERT_TRUE(name) << text;
    while (true) {
      std::vector<char> next;
      for (const char c : kChars) {
        if (c != '.' && name->Next(static_cast<std::uint8_t>(c), work)) next.push_back(c);
      }
      if (next.empty()) break;
      text.push_back(next[Below(random, next.size())]);
      name = name->Next(static_cast<std::uint8_t>(text.back()), work);
    }
    EXPECT_TRUE(name->is_complete()) << text;
  }
}

// What is cut off a state by Clamp is not missed within so many bytes.
TEST(HostNameTest, ClampedStatesGoOnAlike) {
  Random random(1);
  constexpr std::string_view kChars = "axn-1.-.x";
  WorkBudget work;
  for (int walk = 0; walk < 400; ++walk) {
    HostName whole;
    for (std::size_t n = Below(random, 250); n > 0; --n) {
      const char c = kChars[Below(random, kChars.size())];
      if (const auto next = whole.Next(static_cast<std::uint8_t>(c), work)) whole = *next;
    }
    constexpr std::uint32_t kBytes = 12;
    std::optional<HostName> a = whole, b = whole.Clamp(kBytes);
    for (std::uint32_t i = 0; i < kBytes && a; ++i) {
      const auto c = static_cast<std::uint8_t>(kChars[Below(random, kChars.size())]);
      a = a->Next(c, work);
      b = b->Next(c, work);
      ASSERT_EQ(a.has_value(), b.has_value());
      if (a) {
        ASSERT_EQ(a->is_complete(), b->is_complete());
      }
    }
  }
}

}  // namespace
}  // namespace lattice::grammar
