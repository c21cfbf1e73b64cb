#include "server/responses/response_store.h"

#include <gtest/gtest.h>

#include <string>

namespace lattice::server {
namespace {

ResponseStore::Kept Messages(std::size_t n_bytes) {
  return {.messages = {{{"role", "user"}, {"content", std::string(n_bytes, 'a')}}}, .json = "{}"};
}

TEST(ResponseStoreTest, TheLeastRecentlyUsedIsForgotten) {
  ResponseStore store(/*max_count=*/2, /*max_bytes=*/10'000);
  store.Put("a", Messages(1));
  store.Put("b", Messages(2));
  ASSERT_NE(store.Get("a"), nullptr);
  store.Put("c", Messages(3));
  EXPECT_EQ(store.Get("b"), nullptr);
  EXPECT_EQ(store.Get("a")->messages, Messages(1).messages);
  EXPECT_EQ(store.Get("c")->messages, Messages(3).messages);
}

TEST(ResponseStoreTest, BytesAreBounded) {
  ResponseStore store(/*max_count=*/100, /*max_bytes=*/1000);
  store.Put("a", Messages(400));
  store.Put("b", Messages(400));
  store.Put("too large", Messages(2000));
  EXPECT_NE(store.Get("a"), nullptr);
  EXPECT_EQ(store.Get("too large"), nullptr);
  store.Put("c", Messages(400));
  EXPECT_EQ(store.Get("b"), nullptr);
  EXPECT_NE(store.Get("a"), nullptr);
  EXPECT_NE(store.Get("c"), nullptr);
}

TEST(ResponseStoreTest, WhatIsDeletedIsGone) {
  ResponseStore store(/*max_count=*/100, /*max_bytes=*/1000);
  store.Put("a", Messages(400));
  EXPECT_TRUE(store.Delete("a"));
  EXPECT_FALSE(store.Delete("a"));
  EXPECT_EQ(store.Get("a"), nullptr);
  store.Put("b", Messages(400));  // Its room is free again.
  store.Put("c", Messages(400));
  EXPECT_NE(store.Get("b"), nullptr);
}

}  // namespace
}  // namespace lattice::server
