import { failBody, heartbeatBody, releaseBody, succeedBody } from '../../../shared/api/runs.ts'
import type { Json } from '../../../shared/core/json.ts'
import type { Outcome } from '../../../shared/core/run/run.ts'
import { hasResultOf } from '../../../shared/core/task/result.ts'
import { presentHeartbeat } from '../../../shared/present/claims.ts'
import { presentTask } from '../../../shared/present/tasks.ts'
import { describeHead } from '../../../shared/runtime/read/read.ts'
import { finishRun, heartbeatRun } from '../requests/apply-run-update.ts'
import { failureOf, releaseOf, successOf } from '../requests/parse-run-update.ts'
import { type Answer, answerProblem, type Call, route } from '../route.ts'

const PATH = '/v1/tasks/{id}/runs/{runId}'

export const runRoutes = [
  route({
    method: 'post',
    path: `${PATH}/heartbeat`,
    operation: 'heartbeat',
    body: heartbeatBody,
    handle: handleHeartbeat,
  }),
  route({
    method: 'post',
    path: `${PATH}/succeed`,
    operation: 'succeed',
    body: succeedBody,
    handle: call => handleFinish(call, successOf(call.body)),
  }),
  route({
    method: 'post',
    path: `${PATH}/fail`,
    operation: 'fail',
    body: failBody,
    handle: call => handleFinish(call, failureOf(call.body)),
  }),
  route({
    method: 'post',
    path: `${PATH}/release`,
    operation: 'release',
    body: releaseBody,
    handle: call => handleFinish(call, releaseOf(call.body)),
  }),
]

async function handleHeartbeat(call: Call<unknown, { fence: number; progress?: Json }>): Promise<Answer> {
  const { id: taskId = '', runId = '' } = call.params
  const { fence, progress } = call.body
  const renewed = await heartbeatRun(call, { taskId, runId, fence, content: progress })
  if (!renewed.ok) return answerProblem(renewed.problem)
  return { status: 200, body: presentHeartbeat(renewed.task, fence, renewed.leaseUntil) }
}

async function handleFinish(call: Call<unknown, { fence: number }>, outcome: Outcome): Promise<Answer> {
  const { id: taskId = '', runId = '' } = call.params
  const { fence } = call.body
  const ended = await finishRun(call.system, { taskId, runId, fence, content: outcome })
  if (!ended.ok) return answerProblem(ended.problem)
  const { task } = ended
  const shown = presentTask(await describeHead(call.system, call, task))
  const isResultOfTask = outcome.outcome === 'succeed' && hasResultOf(task, fence)
  const result = isResultOfTask ? outcome.result : undefined
  return { status: 200, body: { task: { ...shown, ...(result !== undefined && { result }) } } }
}
