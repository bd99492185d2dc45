import {
  claimsAnswer,
  documentedFinishBody,
  documentedHeartbeatsBody,
  finishesAnswer,
  heartbeatAnswer,
  heartbeatsAnswer,
} from '../../../shared/api/runs.ts'
import { taskAnswer } from '../../../shared/api/tasks.ts'
import type { Operation } from './operation.ts'

const PRESENT_TASK = { 200: { description: 'The task as it is now.', schema: taskAnswer } }

/** A report about a run that is over is answered so. */
const OVER =
  'A report about a run that is over is refused with 409: `reason` says why, and `holder` names the worker that has the task now.'

const REPEATABLE =
  'The same report may be repeated, and is answered with what is stored. A different report after the end of the run is refused with 409.'

export const workOperations = {
  claim: {
    tag: 'Work',
    summary: 'Claim tasks',
    description:
      'Takes tasks of types of kind `http` for a worker, in the order of their type. The tasks come back `running`, with their input. With `waitMs` the call waits for work. An answer without tasks may have `retryAfterMs`: wait that long before the next claim. A call with a `requestId` may be repeated within the lease, and returns the same claims.',
    cost: 'For 1 task of 100 that wait some 6 units of the table and 6 of its indexes, for 10 tasks some 15 and 22. A `requestId` adds 2 write units.',
    answers: { 200: { description: 'The claimed tasks, in the order of their type.', schema: claimsAnswer } },
    problems: ['unknown-type', 'conflict', 'too-many-waiting'],
  },
  heartbeat: {
    tag: 'Work',
    summary: 'Renew the lease of a run',
    description: `A worker sends a heartbeat every \`heartbeatMs\` of the task's options. The answer shows the options in force, which a patch may have changed. ${OVER}`,
    answers: { 200: { description: 'The new lease, and the options in force.', schema: heartbeatAnswer } },
    problems: ['not-found', 'conflict'],
  },
  succeed: {
    tag: 'Work',
    summary: 'Report that a run has succeeded',
    description: `Ends the run and stores its result. With \`next\` the task goes on in another stage. ${REPEATABLE}`,
    answers: PRESENT_TASK,
    problems: ['not-found', 'conflict'],
  },
  fail: {
    tag: 'Work',
    summary: 'Report that a run has failed',
    description: `Ends the run. The task is retried while it has retries left, unless the failure is \`fatal\`. ${REPEATABLE}`,
    answers: PRESENT_TASK,
    problems: ['not-found', 'conflict'],
  },
  release: {
    tag: 'Work',
    summary: 'Give a task back',
    description: `Ends the run without success and without failure. No retry is counted. ${REPEATABLE}`,
    answers: PRESENT_TASK,
    problems: ['not-found', 'conflict'],
  },
  heartbeatMany: {
    tag: 'Work',
    summary: 'Renew the leases of up to 100 runs',
    description:
      'Each run has its own result, in the order of the request: the `status` that a single heartbeat would have answered, and its lease or its problem.',
    body: documentedHeartbeatsBody,
    answers: { 200: { description: 'The results, in the order of the runs.', schema: heartbeatsAnswer } },
  },
  finishMany: {
    tag: 'Work',
    summary: 'Report the ends of up to 100 runs',
    description:
      'Each run has its own result, in the order of the request: the `status` that a single report would have answered, and its task or its problem. `outcome` says how the run ended.',
    body: documentedFinishBody,
    answers: { 200: { description: 'The results, in the order of the runs.', schema: finishesAnswer } },
  },
} as const satisfies Record<string, Operation>
