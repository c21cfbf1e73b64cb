#include <array>

#include "chat/jinja/format.h"

namespace lattice::chat::jinja {
namespace {

constexpr std::array<std::string_view, 7> kDays = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                                   "Thursday", "Friday", "Saturday"};
constexpr std::array<std::string_view, 12> kMonths = {
    "January", "February", "March",     "April",   "May",      "June",
    "July",    "August",   "September", "October", "November", "December"};

bool IsLeap(int year) { return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0; }

int DayOfYear(const CivilTime& time) {  // from 1
  constexpr std::array<int, 12> kBefore = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334};
  return kBefore[static_cast<std::size_t>(time.month - 1)] + time.day +
         (time.month > 2 && IsLeap(time.year) ? 1 : 0);
}

int Weekday(const CivilTime& time) {  // 0: Sunday
  const int y = time.year - 1;        // whole years since the year 1, whose first day was a Monday
  return (y * 365 + y / 4 - y / 100 + y / 400 + DayOfYear(time)) % 7;
}

std::string Number(int value, int width, char padding) {
  std::string digits = std::to_string(value);
  while (padding != '\0' && digits.size() < static_cast<std::size_t>(width)) {
    digits.insert(digits.begin(), padding);
  }
  return digits;
}

// The replacement of one letter; `padding` is what "%-d" or "%_d" asks for, '0' by default.
std::string Field(char letter, char padding, const CivilTime& t) {
  const auto weekday = static_cast<std::size_t>(Weekday(t));
  const auto month = static_cast<std::size_t>(t.month - 1);
  const int hour12 = t.hour % 12 == 0 ? 12 : t.hour % 12;
  switch (letter) {
    case 'a':
      return std::string(kDays[weekday].substr(0, 3));
    case 'A':
      return std::string(kDays[weekday]);
    case 'b':
    case 'h':
      return std::string(kMonths[month].substr(0, 3));
    case 'B':
      return std::string(kMonths[month]);
    case 'c':
      return FormatTime("%a %b %e %H:%M:%S %Y", t);
    case 'C':
      return Number(t.year / 100, 2, padding);
    case 'd':
      return Number(t.day, 2, padding);
    case 'D':
    case 'x':
      return FormatTime("%m/%d/%y", t);
    case 'e':
      return Number(t.day, 2, padding == '0' ? ' ' : padding);
    case 'f':
      return "000000";
    case 'F':
      return FormatTime("%Y-%m-%d", t);
    case 'H':
      return Number(t.hour, 2, padding);
    case 'I':
      return Number(hour12, 2, padding);
    case 'j':
      return Number(DayOfYear(t), 3, padding);
    case 'm':
      return Number(t.month, 2, padding);
    case 'M':
      return Number(t.minute, 2, padding);
    case 'n':
      return "\n";
    case 'p':
      return t.hour < 12 ? "AM" : "PM";
    case 'R':
      return FormatTime("%H:%M", t);
    case 'S':
      return Number(t.second, 2, padding);
    case 't':
      return "\t";
    case 'T':
    case 'X':
      return FormatTime("%H:%M:%S", t);
    case 'u':
      return std::to_string(weekday == 0 ? 7 : weekday);
    case 'U':
      return Number((DayOfYear(t) + 6 - static_cast<int>(weekday)) / 7, 2, padding);
    case 'w':
      return std::to_string(weekday);
    case 'W':
      return Number((DayOfYear(t) + 6 - static_cast<int>((weekday + 6) % 7)) / 7, 2, padding);
    case 'y':
      return Number(t.year % 100, 2, padding);
    case 'Y':
      return std::to_string(t.year);
    case 'z':
    case 'Z':
      return "";  // a time without zone
    case '%':
      return "%";
    default:
      return std::string{'%', letter};
  }
}

}  // namespace

std::string FormatTime(std::string_view format, const CivilTime& time) {
  std::string out;
  for (std::size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%' || i + 1 == format.size()) {
      out += format[i];
      continue;
    }
    char padding = '0';
    if (const char c = format[i + 1]; (c == '-' || c == '_') && i + 2 < format.size()) {
      padding = c == '-' ? '\0' : ' ';
      ++i;
    }
    out += Field(format[++i], padding, time);
  }
  return out;
}

}  // namespace lattice::chat::jinja
