import { countsAnswer, pausedAnswer, purgeAnswer, typeAnswer, typePage } from '../../../shared/api/types.ts'
import type { Operation } from './operation.ts'

export const typeOperations = {
  listTypes: {
    tag: 'Types',
    summary: 'List task types',
    description: 'Lists the registered types by their names.',
    cost: '1 read unit per 4 KB of all types.',
    example: { query: { limit: 10 } },
    answers: { 200: { description: 'One page of types.', schema: typePage } },
  },
  getType: {
    tag: 'Types',
    summary: 'Get a task type',
    description: 'Shows the configuration of the type, and whether it is paused.',
    cost: '1 read unit.',
    answers: { 200: { description: 'The type.', schema: typeAnswer } },
    problems: ['unknown-type'],
  },
  putType: {
    tag: 'Types',
    summary: 'Create a task type, or replace its configuration',
    description:
      'Sets the whole configuration: what the body leaves out returns to its default. A paused type stays paused. Changed defaults hold for tasks that are published afterwards; limits and order hold at once. A type that was deployed changes its kind by a deployment only: another kind is refused with 409.',
    example: {
      body: {
        kind: 'http',
        defaults: { timeoutMs: 60_000, retry: { maxRetries: 5 } },
        limits: { concurrency: { max: 20, key: 'userId' } },
      },
    },
    answers: {
      200: { description: 'The configuration was replaced.', schema: typeAnswer },
      201: { description: 'The type was created.', schema: typeAnswer, location: 'the type' },
    },
    problems: ['conflict', 'stale-revision'],
  },
  pauseType: {
    tag: 'Types',
    summary: 'Pause a task type',
    description:
      'No run of the type starts after the answer. Runs under way go on. The call may be repeated.',
    answers: { 200: { description: 'The type is paused.', schema: pausedAnswer } },
    problems: ['unknown-type', 'stale-revision'],
  },
  resumeType: {
    tag: 'Types',
    summary: 'Resume a task type',
    description: 'Ends a pause: the waiting tasks run, in the order of their type. The call may be repeated.',
    answers: { 200: { description: 'The type is not paused.', schema: pausedAnswer } },
    problems: ['unknown-type', 'stale-revision'],
  },
  counts: {
    tag: 'Types',
    summary: 'Count the tasks of a type',
    description: 'Counts the tasks by their status. Counts may lag 2 seconds behind.',
    cost: 'Half a read unit per 4 KB of index entries, some 50 tasks.',
    answers: { 200: { description: 'The number of tasks in each status.', schema: countsAnswer } },
    problems: ['unknown-type'],
  },
  purge: {
    tag: 'Types',
    summary: 'Purge tasks of a type',
    description:
      'Removes the tasks in the given statuses, in the background. Ended tasks are removed if they ended before `before`, open ones if they were published before it. Removed tasks never run again.',
    cost: 'Some 30 write units for a small type; half a read unit for each task that the purge examines.',
    example: { body: { status: ['failed', 'cancelled'] } },
    answers: { 202: { description: 'The purge has begun.', schema: purgeAnswer } },
    problems: ['unknown-type', 'conflict'],
  },
} as const satisfies Record<string, Operation>
