import {
  failBody,
  type HeartbeatBody,
  heartbeatAnswer,
  heartbeatBody,
  releaseBody,
  succeedBody,
} from '../../api/runs.ts'
import type { Outcome } from '../../core/run/run.ts'
import { hasResultOf } from '../../core/task/piece.ts'
import { describeHead } from '../../runtime/read/read.ts'
import { type Answer, answerProblem, type Call, operation } from '../operation.ts'
import { presentHeartbeat } from '../present/claims.ts'
import { PRESENT_TASK, presentTask } from '../present/tasks.ts'
import { failureOf, finishRun, heartbeatRun, releaseOf, successOf } from '../requests/apply-run-update.ts'

/** A report about a run that is over is answered so. */
const OVER =
  'A report about a run that is over is refused with 409: `reason` says why, and `holder` names the worker that has the task now.'

const REPEATABLE =
  'The same report may be repeated, and is answered with what is stored. A different report after the end of the run is refused with 409.'

export const runOperations = [
  operation({
    name: 'heartbeat',
    tag: 'Work',
    summary: 'Renew the lease of a run',
    description: `A worker sends a heartbeat every \`heartbeatMs\` of the task's options. The answer shows the options in force, which a patch may have changed. ${OVER}`,
    answers: { 200: { description: 'The new lease, and the options in force.', schema: heartbeatAnswer } },
    problems: ['not-found', 'conflict'],
    body: heartbeatBody,
    handle: handleHeartbeat,
  }),
  operation({
    name: 'succeed',
    tag: 'Work',
    summary: 'Report that a run has succeeded',
    description: `Ends the run and stores its result. With \`next\` the task goes on in another stage. ${REPEATABLE}`,
    answers: PRESENT_TASK,
    problems: ['not-found', 'conflict'],
    body: succeedBody,
    handle: call => handleFinish(call, successOf(call.body)),
  }),
  operation({
    name: 'fail',
    tag: 'Work',
    summary: 'Report that a run has failed',
    description: `Ends the run. The task is retried while it has retries left, unless the failure is \`fatal\`. ${REPEATABLE}`,
    answers: PRESENT_TASK,
    problems: ['not-found', 'conflict'],
    body: failBody,
    handle: call => handleFinish(call, failureOf(call.body)),
  }),
  operation({
    name: 'release',
    tag: 'Work',
    summary: 'Give a task back',
    description: `Ends the run without success and without failure. No retry is counted. ${REPEATABLE}`,
    answers: PRESENT_TASK,
    problems: ['not-found', 'conflict'],
    body: releaseBody,
    handle: call => handleFinish(call, releaseOf(call.body)),
  }),
]

async function handleHeartbeat(call: Call<unknown, HeartbeatBody>): Promise<Answer> {
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
