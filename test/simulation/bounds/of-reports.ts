import { type Bound, field, flags, lists, numbers, text, texts, words } from './bound-request.ts'

const TEN_YEARS_MS = 3_653 * 86_400_000
const CLAIM = { type: 'a', workerId: 'w' }
const RUN = { taskId: 'a:b', runId: 'c.1', fence: 1 }
const SUCCESS = { ...RUN, outcome: 'succeed' }
const FAILURE = { ...RUN, outcome: 'fail', error: { name: 'Error', message: 'no' } }
const RELEASE = { ...RUN, outcome: 'release' }
const FENCE_MAX = Number.MAX_SAFE_INTEGER

/** Claims, and the reports of workers. */
export const OF_REPORTS: readonly Bound[] = [
  numbers('claim', CLAIM, 'waitMs', 0, 20_000),
  numbers('claim', CLAIM, 'limit', 1, 100),
  texts('claim', CLAIM, 'workerId', 200),
  lists('claim', { workerId: 'w' }, 'types', 20, nth => `t${nth}`, 1),
  field('claim', CLAIM, 'workerId', ['é'.repeat(128)], ['é'.repeat(129)]),
  texts('claim', CLAIM, 'requestId', 200),
  field('claim', CLAIM, 'workerVersion', ['1', '0.10.2.9', '123456789'], ['v1', '1.', '1234567890', 1]),
  () => [
    { kind: 'claim', body: { type: 'a' }, refused: 'workerId', says: 'is required', isInSchema: true },
    { kind: 'claim', body: [], refused: '', says: 'an object', isInSchema: true },
  ],
  numbers('beat', RUN, 'fence', 1, FENCE_MAX),
  numbers('finish', SUCCESS, 'fence', 1, FENCE_MAX),
  words('finish', FAILURE, 'outcome', ['fail']),
  texts('finish', SUCCESS, 'next.stage', 100),
  numbers('finish', { ...SUCCESS, next: { stage: 'a' } }, 'next.delayMs', 0, TEN_YEARS_MS),
  numbers('finish', { ...SUCCESS, next: { stage: 'a' } }, 'next.priority', -1_000_000_000, 1_000_000_000),
  numbers('finish', FAILURE, 'retryInMs', 0, TEN_YEARS_MS),
  flags('finish', FAILURE, 'fatal'),
  lists('finish', FAILURE, 'error.causes', 5, () => ({ name: 'Error', message: 'why' })),
  numbers('finish', RELEASE, 'delayMs', 0, TEN_YEARS_MS),
  () => [
    { kind: 'finish', body: { ...SUCCESS, error: {} }, refused: 'error' },
    { kind: 'finish', body: { ...FAILURE, result: 1 }, refused: 'result' },
    { kind: 'finish', body: { ...RELEASE, fatal: true }, refused: 'fatal' },
    { kind: 'finish', body: { ...RUN, outcome: 'fail' }, refused: 'error', says: 'is required' },
    { kind: 'finish', body: RUN, refused: 'outcome', says: 'is required' },
    { kind: 'finish', body: null, refused: '', says: 'an object, not null' },
    { kind: 'beat', body: { ...RUN, result: 1 }, refused: 'result' },
    { kind: 'beat', body: { ...RUN, progress: null } },
    { kind: 'finish', body: { ...FAILURE, error: { ...FAILURE.error, stack: 7 } }, refused: 'error.stack' },
  ],
  words('retry', {}, 'action', [
    'restart',
    'retry-do',
    'retry-undo',
    'skip-undo',
    'continue',
    'retry-callbacks',
  ]),
  field(
    'retry',
    {},
    'clean',
    [[], ['failed'], ['failed', 'succeeded']],
    ['failed', ['failed', 'failed', 'failed']],
  ),
  numbers('retry', {}, 'ifRevision', 0, FENCE_MAX),
  field('stage', {}, 'value', ['a', text(100)], ['', text(101), 'a\u0007', 7]),
  field('delay', {}, 'value', [0, 1.5, TEN_YEARS_MS], [-1, TEN_YEARS_MS + 1, Number.NaN, '5']),
]
