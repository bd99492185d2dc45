import type { SourceFault } from '../source-fault.ts'

/** Faults in the guards and writes of the table. */
export const TABLE_FAULTS: readonly SourceFault[] = [
  {
    name: 'a heartbeat of a run that is over is stored',
    replacements: [
      {
        path: 'shared/aws/dynamo/head/head-requests.ts',
        old: 'text: [SAME_BIRTH, STILL_LIVE, KNOWN_SCHEMA].join(JOINED_BY_AND),',
        new: 'text: [SAME_BIRTH, KNOWN_SCHEMA].join(JOINED_BY_AND),',
      },
    ],
  },
  {
    name: 'a success among several is counted although its run is over',
    replacements: [
      {
        path: 'shared/aws/dynamo/head/head-requests.ts',
        old: 'text: [SAME_BIRTH, STILL_LIVE, HAS_ENDED_RUNS, KNOWN_SCHEMA].join(JOINED_BY_AND),',
        new: 'text: [SAME_BIRTH, HAS_ENDED_RUNS, KNOWN_SCHEMA].join(JOINED_BY_AND),',
      },
    ],
  },
  {
    name: 'a write after a heartbeat does not state the index entries',
    replacements: [
      {
        path: 'shared/aws/dynamo/head/head-requests.ts',
        old: "const CHANGED_BY_BEATS = [OPERATION_ATTRIBUTE, 'ppk', 'psk']",
        new: 'const CHANGED_BY_BEATS = [OPERATION_ATTRIBUTE]',
      },
    ],
  },
  {
    name: 'a heartbeat is accepted whatever the birth of its task',
    harmless:
      'the fences of a key never repeat, so a later birth has no live run with the fence of an earlier one',
    replacements: [
      {
        path: 'shared/core/run/lease.ts',
        old: 'const run = task?.born === beat.born ? task.live[beat.fence] : undefined',
        new: 'const run = task?.live[beat.fence]',
      },
      {
        path: 'shared/aws/dynamo/head/head-requests.ts',
        old: 'text: [SAME_BIRTH, STILL_LIVE, KNOWN_SCHEMA].join(JOINED_BY_AND),\n        ...liveNames(guard),',
        new: "text: [':born = :born', STILL_LIVE, KNOWN_SCHEMA].join(JOINED_BY_AND),\n        ...liveNames(guard),",
      },
    ],
  },
  {
    name: 'a flow has room for results beyond 2 MB',
    replacements: [
      {
        path: 'shared/core/flow/flow.ts',
        old: 'PARAMS_BYTES_MAX - results.reduce',
        new: 'PARAMS_BYTES_MAX + results.reduce',
      },
    ],
  },
  {
    name: 'a claim alone can be too large for its answer',
    replacements: [{ path: 'shared/core/run/claim.ts', old: 'tasks > 1 &&', new: 'tasks >= 1 &&' }],
  },
  {
    name: 'a head of newer code is read as a damaged one',
    replacements: [
      { path: 'shared/aws/dynamo/head/head-reader.ts', old: '    assertKnownSchema(item)\n', new: '' },
    ],
  },
  {
    name: 'a damaged head that is removed loses its fence',
    replacements: [
      {
        path: 'shared/aws/dynamo/head/head-reader.ts',
        old: 'fence: numberOr(firstFence(now), item.fence)',
        new: 'fence: firstFence(now - 3_600_000)',
      },
    ],
  },
  {
    name: 'a head that is left out is logged each time',
    replacements: [
      { path: 'shared/aws/dynamo/head/head-reader.ts', old: '    loggedAt.set(id, now)\n', new: '' },
    ],
  },
  {
    name: 'the large input of a removed task stays for years',
    replacements: [
      {
        path: 'shared/core/task/head.ts',
        old: '...(input && { input: replaced(input) }),',
        new: '',
      },
    ],
  },
  {
    name: 'a body ends before the retention of its task',
    replacements: [
      {
        path: 'shared/core/task/head-fields.ts',
        old: 'Math.max(dueAt, now) + retentionMs + BODY_GRACE_MS',
        new: 'Math.max(dueAt, now) + BODY_GRACE_MS',
      },
    ],
  },
  {
    name: 'the second page of a query is the first one again',
    needs: 'odd-errors',
    replacements: [
      {
        path: 'shared/aws/dynamo/documents.ts',
        old: '      ...(start && { ExclusiveStartKey: start }),\n',
        new: '',
      },
    ],
  },
]
