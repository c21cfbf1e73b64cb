#include "grammar/json_schema/formats.h"

#include <utility>

namespace lattice::grammar {
namespace {

#define LATTICE_DATE                                                \
  "(?:\\d{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\\d|3[01])|"       \
  "(?:0[469]|11)-(?:0[1-9]|[12]\\d|30)|02-(?:0[1-9]|1\\d|2[0-8]))|" \
  "(?:\\d\\d(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)-02-29)"
// A leap second is the last one of a day of UTC.
#define LATTICE_TIME                                    \
  "(?:(?:[01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(?:\\.\\d+)?" \
  "(?:[Zz]|[+-](?:[01]\\d|2[0-3]):[0-5]\\d)|23:59:60(?:\\.\\d+)?(?:[Zz]|[+-]00:00))"
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
// Labels with "--" third and fourth encode other scripts by a code that is not regular.
#define LATTICE_PLAIN_LABEL                                                \
  "[A-Za-z0-9](?:(?:[A-Za-z0-9-]?[A-Za-z0-9])?|[A-Za-z0-9-](?:[A-Za-z0-9]" \
  "[A-Za-z0-9-]{0,59}[A-Za-z0-9]|-[A-Za-z0-9](?:[A-Za-z0-9-]{0,58}[A-Za-z0-9])?))"
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
    {"time", LATTICE_TIME},
    {"date-time", LATTICE_DATE "[Tt]" LATTICE_TIME},
    {"duration", "P(?:(?:\\d+D|\\d+M(?:\\d+D)?|\\d+Y(?:\\d+M(?:\\d+D)?)?)(?:" LATTICE_CLOCK
                 ")?|" LATTICE_CLOCK "|\\d+W)"},
    {"email", "(?:" LATTICE_ATOM "(?:\\." LATTICE_ATOM
              ")*|\"(?:[ !#-\\[\\]-~]|\\\\[ -~])*\")@(?:" LATTICE_HOST "|\\[" LATTICE_IPV4
              "\\]|\\[IPv6:" LATTICE_IPV6 "\\])"},
    {"hostname", LATTICE_PLAIN_LABEL "(?:\\." LATTICE_PLAIN_LABEL ")*"},
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

}  // namespace

std::optional<std::string_view> FormatPattern(std::string_view format) {
  for (const auto& [name, pattern] : kFormats) {
    if (name == format) return pattern;
  }
  return std::nullopt;
}

}  // namespace lattice::grammar
