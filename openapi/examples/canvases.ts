import { type AnswerOf, type Body, prepares, type Step } from './exchange.ts'

const picture = (number: number) => ({
  type: 'montage',
  input: { url: `https://example.com/${number}.jpg`, width: 200 },
})

const ALBUM = {
  key: 'album-7',
  chord: {
    group: [picture(1), picture(2)],
    // biome-ignore lint/suspicious/noThenProperty: the word of the API
    then: { type: 'montage', input: { title: 'Album 7' } },
  },
}

const CLAIMS = { body: { type: 'montage', workerId: 'worker-1', limit: 2 } }

function succeeds(claim: string, nth: number, result: object): (answerOf: AnswerOf) => Body {
  return answerOf => {
    const { task, run } = answerOf('claim', claim).claims[nth]
    return { path: { id: task.id, runId: run.id }, body: { fence: run.fence, result } }
  }
}

const lastOf = (answerOf: AnswerOf) => ({ path: { id: answerOf('getCanvas', 'handed-on').items[2].taskId } })

/** A chord runs to its end, and a chain is cancelled. */
export const canvasSteps: readonly Step[] = [
  {
    operation: 'publishCanvas',
    name: 'created',
    title: 'Two tasks side by side, and one that gets both results',
    status: 201,
    asks: { body: ALBUM },
  },
  {
    operation: 'publishCanvas',
    name: 'exists',
    title: 'The same canvas again',
    status: 200,
    asks: { body: ALBUM },
  },
  {
    operation: 'publishCanvas',
    name: 'invalid',
    title: 'A group without members',
    status: 400,
    asks: { body: { key: 'album-8', group: [] } },
  },
  {
    operation: 'publishCanvas',
    name: 'unknown-type',
    title: 'A member of a type that is not registered',
    status: 404,
    asks: { body: { key: 'album-8', chain: [picture(1), { type: 'montag' }] } },
  },
  prepares('claim', 'members', 200, CLAIMS),
  prepares('succeed', 'member-1', 200, succeeds('members', 0, { bytes: 1_234 })),
  prepares('succeed', 'member-2', 200, succeeds('members', 1, { bytes: 4_321 })),
  { path: '/v1/canvases/canvas:album-7', until: ({ items }) => items[2]?.status === 'ready' },
  {
    operation: 'getCanvas',
    name: 'handed-on',
    title: 'The group has ended',
    status: 200,
    asks: { query: { limit: 10 } },
  },
  {
    operation: 'getCanvas',
    name: 'not-found',
    title: 'A canvas that does not exist',
    status: 404,
    asks: { path: { id: 'canvas:album-9' } },
  },
  {
    operation: 'previous',
    name: 'page',
    title: 'The results of the group, for the last task of the chord',
    status: 200,
    asks: answerOf => ({ ...lastOf(answerOf), query: { limit: 10 } }),
  },
  {
    operation: 'previous',
    name: 'no-list',
    title: 'A task that was handed no list',
    status: 409,
    asks: {},
  },
  prepares('claim', 'last', 200, CLAIMS),
  prepares('succeed', 'last', 200, succeeds('last', 0, { pages: 1 })),
  { path: '/v1/canvases/canvas:album-7', until: ({ status }) => status === 'succeeded' },
  {
    operation: 'cancelCanvas',
    name: 'ended',
    title: 'A canvas that has succeeded',
    status: 409,
    asks: { body: {} },
  },
  prepares('publishCanvas', 'chain', 201, { body: { key: 'album-8', chain: [picture(3), picture(4)] } }),
  {
    operation: 'cancelCanvas',
    name: 'cancelled',
    title: 'A chain is cancelled',
    status: 200,
    asks: { path: { id: 'canvas:album-8' }, body: {} },
  },
]
