// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
//
// Runs an exported model through TensorFlow's C API: no Python, no C++.
//
//   run_saved_model [--library=FILE]... MODEL INPUT OUTPUT SHAPE... <x >y
//
// MODEL is the folder of a SavedModel; INPUT and OUTPUT are names of tensors,
// as `saved_model_cli show --all --dir MODEL` tells them. For each SHAPE, such
// as 8,784, as many float32 numbers are read from the standard input, and the
// output's are written to the standard output; one session runs them all.
// docs/serving.md tells how this is compiled.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tensorflow/c/c_api.h"

#define MAX_RANK 8
// In bytes. Times one dimension more it is still less than 2^64.
#define MAX_SIZE ((size_t)1 << 32)

static void Fail(const char* what, const char* why) {
  fprintf(stderr, "error: %s: %s\n", what, why);
  exit(1);
}

static void Check(const TF_Status* status, const char* what) {
  if (TF_GetCode(status) != TF_OK) Fail(what, TF_Message(status));
}

// "StatefulPartitionedCall:0": an operation, and which of its outputs.
static TF_Output FindTensor(TF_Graph* graph, const char* name) {
  char operation[256];
  const size_t length = strcspn(name, ":");
  if (length >= sizeof(operation)) Fail(name, "this name is too long");
  memcpy(operation, name, length);
  operation[length] = '\0';
  TF_Output tensor = {TF_GraphOperationByName(graph, operation), 0};
  if (tensor.oper == NULL) Fail(name, "the model has no such tensor");
  if (name[length] == ':') tensor.index = atoi(name + length + 1);
  if (tensor.index < 0 || tensor.index >= TF_OperationNumOutputs(tensor.oper)) {
    Fail(name, "the operation has not as many outputs");
  }
  return tensor;
}

static TF_Tensor* ReadTensor(const char* shape) {
  int64_t dims[MAX_RANK];
  int rank = 0;
  size_t size = sizeof(float);
  for (const char* digit = shape; *digit != '\0'; ++rank) {
    char* end;
    if (rank == MAX_RANK) Fail(shape, "more than 8 dimensions");
    dims[rank] = strtoll(digit, &end, 10);
    if (end == digit || dims[rank] < 0 || dims[rank] > INT32_MAX) {
      Fail(shape, "expected numbers and commas, such as 8,784");
    }
    size *= (size_t)dims[rank];
    if (size > MAX_SIZE) Fail(shape, "more than 4 GiB");
    digit = *end == ',' ? end + 1 : end;
  }
  TF_Tensor* x = TF_AllocateTensor(TF_FLOAT, dims, rank, size);
  if (fread(TF_TensorData(x), 1, size, stdin) != size) {
    Fail(shape, "the standard input ends before");
  }
  return x;
}

static void WriteTensor(const TF_Tensor* y) {
  if (TF_TensorType(y) != TF_FLOAT) Fail("output", "expected float32");
  const size_t size = TF_TensorByteSize(y);
  if (fwrite(TF_TensorData(y), 1, size, stdout) != size) {
    Fail("output", "cannot be written");
  }
}

int main(int argc, char** argv) {
  TF_Status* status = TF_NewStatus();
  const char* const option = "--library=";
  int next = 1;
  for (; next < argc && strncmp(argv[next], option, strlen(option)) == 0;
       ++next) {
    // Registers its ops; nothing has to be looked up in it.
    TF_LoadLibrary(argv[next] + strlen(option), status);
    Check(status, argv[next]);
  }
  if (argc - next < 4) {
    fprintf(stderr,
            "usage: %s [--library=FILE]... MODEL INPUT OUTPUT SHAPE... <x >y\n",
            argv[0]);
    return 2;
  }
  const char* const model = argv[next];
  const char* const tags[] = {"serve"};
  TF_Graph* graph = TF_NewGraph();
  TF_SessionOptions* options = TF_NewSessionOptions();
  TF_Session* session = TF_LoadSessionFromSavedModel(options, NULL, model, tags,
                                                     1, graph, NULL, status);
  Check(status, model);
  const TF_Output input = FindTensor(graph, argv[next + 1]);
  const TF_Output output = FindTensor(graph, argv[next + 2]);
  for (int i = next + 3; i < argc; ++i) {
    TF_Tensor* x = ReadTensor(argv[i]);
    TF_Tensor* y = NULL;
    TF_SessionRun(session, NULL, &input, &x, 1, &output, &y, 1, NULL, 0, NULL,
                  status);
    Check(status, "run");
    WriteTensor(y);
    TF_DeleteTensor(x);
    TF_DeleteTensor(y);
  }
  // What is left in the buffer may not fit the disk.
  if (fflush(stdout) != 0) Fail("output", "cannot be written");
  TF_CloseSession(session, status);
  TF_DeleteSession(session, status);
  TF_DeleteSessionOptions(options);
  TF_DeleteGraph(graph);
  TF_DeleteStatus(status);
  return 0;
}
