// The calls of training layers on the CPU: plain definitions, divided among threads. Each writes
// all of its outputs, and gives the same bits for any number of threads.
#pragma once

#include "golden/common/thread_team.h"
#include "golden/kernels/train/train_calls.h"

namespace qsim::golden::train {

void compute(const Observe& call, ThreadTeam& team);
void compute(const CopyScale& call, ThreadTeam& team);
void compute(const QuantizeLevels& call, ThreadTeam& team);
void compute(const QuantizeWeights& call, ThreadTeam& team);
void compute(const ConvReal& call, ThreadTeam& team);
void compute(const ConvLevels& call, ThreadTeam& team);
void compute(const ConvStatistics& call, ThreadTeam& team);
void compute(const ConvGradientSums& call, ThreadTeam& team);
void compute(const ConvNormalizeGradient& call, ThreadTeam& team);
void compute(const MaxPool& call, ThreadTeam& team);
void compute(const MaxPoolGradient& call, ThreadTeam& team);
void compute(const GradientOperand& call, ThreadTeam& team);
void compute(const ConvInputGradient& call, ThreadTeam& team);
void compute(const ConvWeightGradient& call, ThreadTeam& team);
void compute(const StepGradient& call, ThreadTeam& team);

}  // namespace qsim::golden::train
