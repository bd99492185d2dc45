import { deadLettersPage, replayAnswer } from '../../../shared/api/diagnosis/dead-letters.ts'
import { failuresPage } from '../../../shared/api/diagnosis/failures.ts'
import { descriptionAnswer, healthAnswer } from '../../../shared/api/diagnosis/health.ts'
import { workerPage } from '../../../shared/api/workers.ts'
import type { Operation } from './operation.ts'

export const serviceOperations = {
  listFailures: {
    tag: 'Observing',
    summary: 'Group failures by type and error',
    description:
      'Shows why tasks fail: groups of one type and one error, the most frequent first. Numbers, ids and quoted texts in the error are masked by `#`. A failure shows within some seconds. More than 5,000 hourly counts are refused with 400: give a type or a later `since`.',
    cost: '1 read unit per 4 KB of types, and half a unit for each type and for each 13 hourly counts of it; at most some 190 units.',
    answers: { 200: { description: 'One page of groups.', schema: failuresPage } },
    problems: ['unknown-type'],
  },
  listDeadLetters: {
    tag: 'Observing',
    summary: 'List dead letters',
    description:
      'Lists messages that a queue, the stream or a schedule gave up, by queue, the newest first. Each says what was given up and what replaces it. A task does not wait for a dead letter: the sweeper sends its message again.',
    cost: 'Half a read unit for each 4 KB of dead letters.',
    answers: { 200: { description: 'One page of dead letters.', schema: deadLettersPage } },
  },
  replayDeadLetters: {
    tag: 'Observing',
    summary: 'Send up to 100 dead letters again',
    description: 'Each dead letter has its own result: by `ids` in their order, by `queue` the newest first.',
    answers: { 200: { description: 'The results.', schema: replayAnswer } },
  },
  listWorkers: {
    tag: 'Observing',
    summary: 'List live workers',
    description: 'Lists live workers by their ids. The Lambda functions of a type are one entry.',
    cost: '1 read unit per 4 KB of workers, some 200 bytes each.',
    answers: { 200: { description: 'One page of workers.', schema: workerPage } },
  },
  events: {
    tag: 'Observing',
    summary: 'Follow events',
    description:
      "Streams events as server-sent events: only the local system does so. A deployed API answers 501, because there the events go to the system's bus of EventBridge. The header `Last-Event-ID`, or `lastEventId`, resumes after an event.",
    answers: {
      200: {
        description:
          'In the local system: one message per event, with its `id`, its type as `event`, and JSON as `data`.',
        contentType: 'text/event-stream',
      },
    },
    problems: ['not-here'],
  },
  health: {
    tag: 'Service',
    summary: 'Check that the API answers',
    description: 'Reads nothing from the table.',
    answers: { 200: { description: 'The API answers.', schema: healthAnswer } },
  },
  openapi: {
    tag: 'Service',
    summary: 'Get this document',
    answers: { 200: { description: 'This document.', schema: descriptionAnswer } },
  },
} as const satisfies Record<string, Operation>
