import {
  activityPage,
  allCountsPage,
  limitUsage as limitUsageAnswer,
} from '../../../shared/api/diagnosis/load.ts'
import { countsAnswer, pausedAnswer, purgeAnswer, typeAnswer, typePage } from '../../../shared/api/types.ts'
import type { Operation } from './operation.ts'

export const typeOperations = {
  listTypes: {
    tag: 'Types',
    summary: 'List task types',
    description: 'Lists the registered types by their names.',
    cost: '1 read unit per 4 KB of all types.',
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
  listCounts: {
    tag: 'Types',
    summary: 'Count the tasks of all types',
    description: 'Counts the tasks of each type by their status. Counts may lag 2 seconds behind.',
    cost: 'Some 10 read units for each thousand tasks; with `atMost=1000` at most some 80 units for each type.',
    answers: { 200: { description: 'One page of types with their counts.', schema: allCountsPage } },
  },
  listActivity: {
    tag: 'Types',
    summary: 'Show what the tasks of each type did, minute by minute',
    description:
      'Shows how many tasks were published, started and ended in each of the last minutes, and how late runs started. The counts lag by some seconds, and may be a little off.',
    cost: '1 read unit per 4 KB of types, and for each type half a unit per 4 KB of minutes.',
    answers: { 200: { description: 'One page of types with their activity.', schema: activityPage } },
    problems: ['unknown-type'],
  },
  limitUsage: {
    tag: 'Types',
    summary: 'Show how much of the limits of a type is used',
    description:
      'Shows the permits that are held with their holders, and the time of the next free slot. A limit with a key is shown for one value of the key: `rateValue` and `concurrencyValue`, or `value` for both.',
    cost: '1 read unit for the type, and 1 per 4 KB of permits or slots for each limit.',
    answers: { 200: { description: 'The limits and their usage.', schema: limitUsageAnswer } },
    problems: ['unknown-type'],
  },
  purge: {
    tag: 'Types',
    summary: 'Purge tasks of a type',
    description:
      'Removes the tasks in the given statuses, in the background. Ended tasks are removed if they ended before `before`, open ones if they were published before it. Removed tasks never run again.',
    cost: 'Some 30 write units for a small type; half a read unit for each task that the purge examines.',
    answers: { 202: { description: 'The purge has begun.', schema: purgeAnswer } },
    problems: ['unknown-type', 'conflict'],
  },
} as const satisfies Record<string, Operation>
