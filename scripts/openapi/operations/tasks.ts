import { whyAnswer } from '../../../shared/api/diagnosis/why.ts'
import {
  documentedPublishManyBody,
  publishAnswer,
  publishBody,
  publishManyAnswer,
} from '../../../shared/api/publish.ts'
import { previousPage, task, taskAnswer, taskPage } from '../../../shared/api/tasks.ts'
import type { Operation } from './operation.ts'

const PRESENT_TASK = { 200: { description: 'The task as it is now.', schema: taskAnswer } }

export const taskOperations = {
  publish: {
    tag: 'Tasks',
    summary: 'Publish a task',
    description:
      'Stores the task. A worker runs it when it is due. With a `key` the call may be repeated: a second publish of the key creates nothing, and `ifExists` says what else it does. A call without a key that is repeated creates a second task.',
    cost: '2 write units (3 for a type of kind `http`) and 1 read unit. An input of more than 200 bytes costs 1 further write unit per KB.',
    body: publishBody,
    answers: {
      200: { description: 'A task with this key exists. `task` shows it.', schema: publishAnswer },
      201: { description: 'The task was created.', schema: publishAnswer, location: 'the task' },
    },
    problems: ['unknown-type', 'conflict'],
  },
  publishMany: {
    tag: 'Tasks',
    summary: 'Publish up to 100 tasks',
    description:
      'Each task has its own result, in the order of the request. A task that is refused harms no other: its result has the `status` and the `problem` that a single publish would have answered.',
    cost: 'The sum of its publishes.',
    body: documentedPublishManyBody,
    answers: { 200: { description: 'The results, in the order of the tasks.', schema: publishManyAnswer } },
  },
  get: {
    tag: 'Tasks',
    summary: 'Get a task',
    description: 'Shows the task with its input, its result, its errors and its runs.',
    cost: '1 read unit for a plain task. An input, a result or runs that are stored in items of their own cost 1 read unit per 4 KB.',
    answers: { 200: { description: 'The task.', schema: task } },
    problems: ['not-found'],
  },
  list: {
    tag: 'Tasks',
    summary: 'List tasks',
    description:
      'Lists the tasks of types, of a user or of a canvas: one of `type`, `userId` and `canvasId` is required. Items leave out input and result. A list may lag 2 seconds behind. Filters are applied to pages, so a page may have fewer tasks than `limit` and still have a `nextCursor`. A list that would have to sort too many tasks is refused with 400, and the refusal names an order that works.',
    cost: 'Half a read unit for each task that the page examines (at most 1,000 in an order that an index keeps, at most some 5,000 otherwise), and half a unit for each partition and for some 50 entries in it.',
    answers: { 200: { description: 'One page of tasks.', schema: taskPage } },
    problems: ['not-found', 'unknown-type'],
  },
  patch: {
    tag: 'Tasks',
    summary: 'Change an open task',
    description:
      'Changes what the body names, and leaves the rest. `null` returns an option to the default of the type, and `tags: null` removes all tags. A task that has ended is refused with 409.',
    answers: PRESENT_TASK,
    problems: ['not-found', 'conflict', 'stale-revision'],
  },
  remove: {
    tag: 'Tasks',
    summary: 'Remove a task',
    description:
      'The task never runs again, and its record is deleted. The handler of a run under way is aborted. A task that was removed already is answered with 404.',
    answers: { 204: { description: 'The task is removed.' } },
    problems: ['not-found', 'stale-revision'],
  },
  cancel: {
    tag: 'Tasks',
    summary: 'Cancel a task',
    description:
      'Stops the task and keeps its record. The handler of a run under way is aborted. A flow undoes the steps that were done, unless its type says otherwise. The call may be repeated. A task that has ended in another way is refused with 409.',
    answers: { 200: { description: 'The cancelled task.', schema: taskAnswer } },
    problems: ['not-found', 'conflict', 'stale-revision'],
  },
  retry: {
    tag: 'Tasks',
    summary: 'Retry a task',
    description:
      'Starts a finished task over, resumes a failed flow, or publishes the callbacks that a task owes: `action` says which. The task has its whole budget of retries again. A task for which the action is not possible is refused with 409.',
    answers: { 200: { description: 'The task as it is now.', schema: taskAnswer, location: 'the task' } },
    problems: ['not-found', 'conflict', 'stale-revision'],
  },
  why: {
    tag: 'Tasks',
    summary: 'Explain why a task waits, runs or has ended',
    description:
      'Answers with one reason, one sentence that says what the task waits for, and what to do. The reasons have a table in the guide on waiting.',
    cost: 'At most 10 read units, one request to SQS and no write.',
    answers: { 200: { description: 'The reason.', schema: whyAnswer } },
    problems: ['not-found'],
  },
  previous: {
    tag: 'Tasks',
    summary: 'List what a canvas handed on to a task',
    description:
      'Reads the list of results that the earlier tasks of a canvas handed on, in their order. A task shows the list in `previous`; when it is too long for that, the task has `previousPaged`, and only this call reads it. A task that was handed no list is refused with 409.',
    answers: { 200: { description: 'One page of results.', schema: previousPage } },
    problems: ['not-found', 'conflict'],
  },
} as const satisfies Record<string, Operation>
