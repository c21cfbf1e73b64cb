#include "grammar/json_schema/formats.h"

#include <array>
#include <string>
#include <utility>

namespace lattice::grammar {
namespace {

#define LATTICE_DATE                                                \
  "(?:\\d{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\\d|3[01])|"       \
  "(?:0[469]|11)-(?:0[1-9]|[12]\\d|30)|02-(?:0[1-9]|1\\d|2[0-8]))|" \
  "(?:\\d\\d(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)-02-29)"
#define LATTICE_SPLIT "(?:\\.\\d+)?"  // of a second
#define LATTICE_TIME \
  "(?:[01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d" LATTICE_SPLIT "(?:[Zz]|[+-](?:[01]\\d|2[0-3]):[0-5]\\d)"
#define LATTICE_IPV4 \
  "(?:(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)\\.){3}(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)"
#define LATTICE_H16 "[0-9A-Fa-f]{1,4}"
#define LATTICE_LS32 "(?:" LATTICE_H16 ":" LATTICE_H16 "|" LATTICE_IPV4 ")"
#define LATTICE_IPV6                                                                     \
  "(?:(?:" LATTICE_H16 ":){6}" LATTICE_LS32 "|::(?:" LATTICE_H16 ":){5}" LATTICE_LS32    \
  "|(?:" LATTICE_H16 ")?::(?:" LATTICE_H16 ":){4}" LATTICE_LS32 "|(?:(?:" LATTICE_H16    \
  ":){0,1}" LATTICE_H16 ")?::(?:" LATTICE_H16 ":){3}" LATTICE_LS32 "|(?:(?:" LATTICE_H16 \
  ":){0,2}" LATTICE_H16 ")?::(?:" LATTICE_H16 ":){2}" LATTICE_LS32 "|(?:(?:" LATTICE_H16 \
  ":){0,3}" LATTICE_H16 ")?::" LATTICE_H16 ":" LATTICE_LS32 "|(?:(?:" LATTICE_H16        \
  ":){0,4}" LATTICE_H16 ")?::" LATTICE_LS32 "|(?:(?:" LATTICE_H16 ":){0,5}" LATTICE_H16  \
  ")?::" LATTICE_H16 "|(?:(?:" LATTICE_H16 ":){0,6}" LATTICE_H16 ")?::)"
#define LATTICE_LABEL "[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
#define LATTICE_HOST LATTICE_LABEL "(?:\\." LATTICE_LABEL ")*"
#define LATTICE_ATOM "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
#define LATTICE_PCT "%[0-9A-Fa-f]{2}"
// Where `x` is the class of what stands for itself.
#define LATTICE_PCHAR(x) "(?:[" x "!$&'()*+,;=:@]|" LATTICE_PCT ")"
#define LATTICE_AUTHORITY(x)                                                                \
  "(?:(?:[" x "!$&'()*+,;=:]|" LATTICE_PCT ")*@)?(?:\\[(?:" LATTICE_IPV6                    \
  "|[vV][0-9A-Fa-f]+\\.[A-Za-z0-9._~!$&'()*+,;=:-]+)\\]|(?:[" x "!$&'()*+,;=]|" LATTICE_PCT \
  ")*)(?::[0-9]*)?"
#define LATTICE_TAIL(x) "(?:\\?(?:" LATTICE_PCHAR(x) "|[/?])*)?(?:#(?:" LATTICE_PCHAR(x) "|[/?])*)?"
#define LATTICE_SEGMENTS(x) "(?:/" LATTICE_PCHAR(x) "*)*"
#define LATTICE_URI(x)                                                                          \
  "[A-Za-z][A-Za-z0-9+.-]*:(?://" LATTICE_AUTHORITY(x)                                          \
      LATTICE_SEGMENTS(x) "|/(?:" LATTICE_PCHAR(x) "+" LATTICE_SEGMENTS(x) ")?|" LATTICE_PCHAR( \
          x) "+" LATTICE_SEGMENTS(x) "|)" LATTICE_TAIL(x)
#define LATTICE_RELATIVE(x)                                                                       \
  "(?://" LATTICE_AUTHORITY(x) LATTICE_SEGMENTS(x) "|/(?:" LATTICE_PCHAR(x) "+" LATTICE_SEGMENTS( \
      x) ")?|(?:[" x "!$&'()*+,;=@]|" LATTICE_PCT ")+" LATTICE_SEGMENTS(x) "|)" LATTICE_TAIL(x)
#define LATTICE_ASCII "A-Za-z0-9._~\\-"
#define LATTICE_POINTER "(?:/(?:[^~/]|~[01])*)*"
#define LATTICE_CLOCK "T(?:\\d+H(?:\\d+M(?:\\d+S)?)?|\\d+M(?:\\d+S)?|\\d+S)"

constexpr std::pair<std::string_view, std::string_view> kFormats[] = {
    {"date", LATTICE_DATE},
    {"duration", "P(?:(?:\\d+D|\\d+M(?:\\d+D)?|\\d+Y(?:\\d+M(?:\\d+D)?)?)(?:" LATTICE_CLOCK
                 ")?|" LATTICE_CLOCK "|\\d+W)"},
    {"email", "(?:" LATTICE_ATOM "(?:\\." LATTICE_ATOM
              ")*|\"(?:[ !#-\\[\\]-~]|\\\\[ -~])*\")@(?:" LATTICE_HOST "|\\[" LATTICE_IPV4
              "\\]|\\[IPv6:" LATTICE_IPV6 "\\])"},
    {"ipv4", LATTICE_IPV4},
    {"ipv6", LATTICE_IPV6},
    {"uuid", "[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}"},
    {"uri", LATTICE_URI(LATTICE_ASCII)},
    {"uri-reference", "(?:" LATTICE_URI(LATTICE_ASCII) "|" LATTICE_RELATIVE(LATTICE_ASCII) ")"},
    {"json-pointer", LATTICE_POINTER},
    {"relative-json-pointer", "(?:0|[1-9][0-9]*)(?:#|" LATTICE_POINTER ")"},
    {"idn-email", ""},
    {"idn-hostname", ""},
    {"iri", ""},
    {"iri-reference", ""},
    {"uri-template", ""},
    {"regex", ""},
};

constexpr std::pair<std::string_view, std::string_view> kEncodings[] = {
    {"base64", "(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?"},
    {"base64url", "(?:[A-Za-z0-9_-]{4})*(?:[A-Za-z0-9_-]{2}(?:==)?|[A-Za-z0-9_-]{3}=?)?"},
    {"base32", "(?:[A-Z2-7]{8})*(?:[A-Z2-7]{2}={6}|[A-Z2-7]{4}={4}|[A-Z2-7]{5}={3}|[A-Z2-7]{7}=)?"},
    {"base16", "(?:[0-9A-Fa-f]{2})*"},
};

std::string TwoDigits(int n) {
  return {static_cast<char>('0' + n / 10), static_cast<char>('0' + n % 10)};
}

// A leap second is the last one of a day of UTC: h:m here is 23:59 there, so the offset is h:m and
// a minute, or what is left to 23:59 behind a minus. These are the conditions on the minutes and on
// the hours; a time keeps both.
std::array<std::string, 2> LeapSecondConditions() {
  const std::string split = LATTICE_SPLIT;
  std::string minutes = "\\d\\d:(?:59:60" + split + "[Zz]";
  for (int m = 0; m < 60; ++m) {
    minutes += "|" + TwoDigits(m) + ":60" + split + "(?:\\+\\d\\d:" + TwoDigits((m + 1) % 60) +
               "|-\\d\\d:" + TwoDigits(59 - m) + ")";
  }
  std::string hours = "(?:23:\\d\\d:60" + split + "[Zz]";
  for (int h = 0; h < 24; ++h) {
    hours += "|" + TwoDigits(h) + ":(?:(?:[0-4]\\d|5[0-8]):60" + split + "\\+" + TwoDigits(h) +
             "|59:60" + split + "\\+" + TwoDigits((h + 1) % 24) + "|[0-5]\\d:60" + split + "-" +
             TwoDigits(23 - h) + "):\\d\\d";
  }
  return {minutes + ")", hours + ")"};
}

Result<Expr> Times(StringExprs& strings, GrammarBuilder& builder) {
  static const std::array<std::string, 2> kLeap = LeapSecondConditions();
  LATTICE_TRY(const Expr plain, strings.InsideMatching(LATTICE_TIME));
  LATTICE_TRY(const Expr minutes, strings.InsideMatching(kLeap[0]));
  LATTICE_TRY(const Expr hours, strings.InsideMatching(kLeap[1]));
  return builder.Or({plain, builder.And({minutes, hours})});
}

Result<Expr> Whole(std::string_view pattern, StringExprs& strings) {
  LATTICE_TRY(const Expr inside, strings.InsideMatching(pattern));
  return strings.Quoted(inside);
}

}  // namespace

Result<Expr> FormatStrings(std::string_view format, Dialect dialect, StringExprs& strings,
                           GrammarBuilder& builder) {
  if (format == "time") {
    LATTICE_TRY(const Expr time, Times(strings, builder));
    return strings.Quoted(time);
  }
  if (format == "date-time") {
    LATTICE_TRY(const Expr date, strings.InsideMatching(LATTICE_DATE "[Tt]"));
    LATTICE_TRY(const Expr time, Times(strings, builder));
    return strings.Quoted(builder.Concat({date, time}));
  }
  if (format == "hostname") {
    if (dialect > Dialect::kDraft6) return strings.Quoted(builder.HostNames());
    // Of RFC 1034, where "xn--" says nothing.
    LATTICE_TRY(const Expr names, Whole(LATTICE_HOST, strings));
    return builder.And({names, strings.OfLength(1, 253)});
  }
  for (const auto& [name, pattern] : kFormats) {
    if (name != format) continue;
    if (pattern.empty()) {
      return Error{ErrorCode::kUnsupported, "this format cannot be enforced"};
    }
    return Whole(pattern, strings);
  }
  return strings.any();
}

Result<Expr> EncodedStrings(std::string_view encoding, StringExprs& strings) {
  for (const auto& [name, pattern] : kEncodings) {
    if (name == encoding) return Whole(pattern, strings);
  }
  return strings.any();
}

}  // namespace lattice::grammar
