# Third-party libraries, each behind one imported target that rooms name in LIBS. docs/libraries.md
# says what each does for us.
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
find_package(OpenSSL REQUIRED)
find_package(Boost 1.75 REQUIRED COMPONENTS json)
pkg_check_modules(utf8proc REQUIRED IMPORTED_TARGET libutf8proc)
pkg_check_modules(pcre2 REQUIRED IMPORTED_TARGET libpcre2-8)
pkg_check_modules(libedit REQUIRED IMPORTED_TARGET libedit)
pkg_check_modules(libzip REQUIRED IMPORTED_TARGET libzip)
find_package(CURL REQUIRED)
find_package(ZLIB REQUIRED)  # tests only: reference values are kept compressed
