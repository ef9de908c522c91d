// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
#include "cc/layout/conv_geometry.h"

#include <algorithm>
#include <cstddef>

#include "cc/base/message.h"
#include "cc/base/round_up.h"

namespace blocksparse {
namespace {

// Pixels from the first tap to the last one.
int64_t Reach(const ConvAttributes& attributes, int dimension) {
  return (attributes.kernel_size[dimension] - 1) *
         attributes.dilations[dimension];
}

std::string CheckNumbers(const char* name, const std::vector<int64_t>& numbers,
                         size_t count, int64_t least) {
  bool fits = numbers.size() == count;
  for (const int64_t number : numbers) {
    fits &= number >= least && number <= kMaxConvSize;
  }
  if (fits) return std::string();
  return Message(name, " is ", ListOf(numbers), ", expected ", count,
                 " numbers from ", least, " to ", kMaxConvSize,
                 " for a kernel of ", count,
                 " dimensions; pass one for each of them");
}

std::string CheckPaddings(const ConvAttributes& attributes) {
  const std::vector<int64_t>& paddings = attributes.explicit_paddings;
  const size_t count = attributes.padding == ConvPadding::kExplicit
                           ? 2 * attributes.kernel_size.size()
                           : 0;
  bool fits = paddings.size() == count;
  for (const int64_t padding : paddings) {
    fits &= padding >= -kMaxConvSize && padding <= kMaxConvSize;
  }
  if (fits) return std::string();
  if (count == 0) {
    return Message("explicit_paddings is ", ListOf(paddings),
                   ", expected none with this padding; pass padding EXPLICIT");
  }
  return Message("explicit_paddings is ", ListOf(paddings), ", expected ",
                 count, " numbers from ", -kMaxConvSize, " to ", kMaxConvSize,
                 "; pass the zeros before and after each dimension");
}

// Multiplies pixels by one more size, of which 0 counts as 1: strides over an
// empty tensor may be multiplied, too.
bool CountPixels(int64_t size, int64_t* pixels) {
  *pixels *= std::max<int64_t>(size, 1);
  return *pixels <= kMaxConvPixels;
}

std::string CheckSide(const char* name, int64_t batch,
                      const std::vector<int64_t>& sizes) {
  bool fits = batch >= 0 && batch <= kMaxConvSize;
  for (const int64_t size : sizes) fits &= size >= 0 && size <= kMaxConvSize;
  int64_t pixels = 1;
  if (fits) fits = CountPixels(batch, &pixels);
  for (size_t i = 0; fits && i < sizes.size(); ++i) {
    fits = CountPixels(sizes[i], &pixels);
  }
  if (fits) return std::string();
  return Message("the ", name, " side has a batch of ", batch,
                 " and spatial sizes ", ListOf(sizes), ", expected 0 to ",
                 kMaxConvSize, " each and at most ", kMaxConvPixels,
                 " pixels; split the batch");
}

}  // namespace

std::string CheckConvAttributes(const ConvAttributes& attributes) {
  const std::vector<int64_t>& kernel = attributes.kernel_size;
  bool fits = kernel.size() >= 1 && kernel.size() <= kSpatial;
  int64_t taps = 1;
  for (const int64_t size : kernel) {
    fits = fits && size >= 1 && size <= kMaxTaps;
    if (fits) taps *= size;
    fits = fits && taps <= kMaxTaps;
  }
  if (!fits) {
    return Message("kernel_size is ", ListOf(kernel), ", expected 1 to ",
                   kSpatial, " sizes of at least 1 that make at most ",
                   kMaxTaps, " taps; pass the spatial sizes of the kernel");
  }
  std::string error =
      CheckNumbers("strides", attributes.strides, kernel.size(), 1);
  if (error.empty()) {
    error = CheckNumbers("dilations", attributes.dilations, kernel.size(), 1);
  }
  if (error.empty()) error = CheckPaddings(attributes);
  if (!error.empty()) return error;
  for (int i = 0; i < attributes.rank(); ++i) {
    if (Reach(attributes, i) > kMaxConvSize) {
      return Message("kernel_size is ", ListOf(kernel), " and dilations ",
                     ListOf(attributes.dilations),
                     ", expected (kernel_size - 1) * dilations of at most ",
                     kMaxConvSize, "; dilate less");
    }
  }
  return std::string();
}

std::string DeriveCoarseSize(const ConvAttributes& attributes, int dimension,
                             int64_t fine, int64_t* coarse) {
  if (fine < 0 || fine > kMaxConvSize) {
    return Message("the fine side has ", fine, " pixels in spatial dimension ",
                   dimension, ", expected 0 to ", kMaxConvSize);
  }
  // Where the first tap may lie.
  int64_t places = fine;
  if (attributes.padding != ConvPadding::kSame) {
    places -= Reach(attributes, dimension);
  }
  if (attributes.padding == ConvPadding::kExplicit) {
    places += attributes.explicit_paddings[2 * dimension] +
              attributes.explicit_paddings[2 * dimension + 1];
  }
  *coarse =
      CeilDiv(std::max<int64_t>(places, 0), attributes.strides[dimension]);
  if (*coarse <= kMaxConvSize) return std::string();
  return Message("the coarse side has ", *coarse,
                 " pixels in spatial dimension ", dimension,
                 ", expected at most ", kMaxConvSize, "; pad less");
}

std::string MakeConvGeometry(const ConvAttributes& attributes, int64_t batch,
                             const std::vector<int64_t>& fine,
                             const std::vector<int64_t>& coarse,
                             ConvGeometry* geometry) {
  std::string error = CheckSide("fine", batch, fine);
  if (error.empty()) error = CheckSide("coarse", batch, coarse);
  if (!error.empty()) return error;
  *geometry = ConvGeometry();
  geometry->batch = batch;
  for (int i = 0; i < attributes.rank(); ++i) {
    const int to = kSpatial - attributes.rank() + i;
    geometry->fine[to] = fine[i];
    geometry->coarse[to] = coarse[i];
    geometry->kernel[to] = attributes.kernel_size[i];
    geometry->strides[to] = attributes.strides[i];
    geometry->dilations[to] = attributes.dilations[i];
    int64_t padding = 0;
    if (attributes.padding == ConvPadding::kSame) {
      const int64_t needed = (coarse[i] - 1) * attributes.strides[i] +
                             Reach(attributes, i) + 1 - fine[i];
      padding = std::max<int64_t>(needed, 0) / 2;
    } else if (attributes.padding == ConvPadding::kExplicit) {
      padding = attributes.explicit_paddings[2 * i];
    }
    if (padding > kMaxConvSize) {
      return Message("the fine side has spatial sizes ", ListOf(fine),
                     " and the coarse side ", ListOf(coarse), " with strides ",
                     ListOf(attributes.strides), ", expected to pad at most ",
                     kMaxConvSize,
                     " zeros; pass sizes that belong to each other");
    }
    geometry->padding[to] = padding;
  }
  return std::string();
}

}  // namespace blocksparse
