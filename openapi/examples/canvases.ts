import { type AnswerOf, prepares, type Step, shows } from './exchange.ts'

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

const lastOf = (answerOf: AnswerOf) => ({ path: { id: answerOf('getCanvas', 'handed-on').items[2].taskId } })

/** A chord runs to its end, and a chain is cancelled. */
export const canvasSteps: readonly Step[] = [
  shows('publishCanvas', 'created', 201, 'Two tasks side by side, and one that gets both results', {
    body: ALBUM,
  }),
  shows('publishCanvas', 'exists', 200, 'The same canvas again', { body: ALBUM }),
  shows('publishCanvas', 'invalid', 400, 'A group without members', { body: { key: 'album-8', group: [] } }),
  shows('publishCanvas', 'unknown-type', 404, 'A member of a type that is not registered', {
    body: { key: 'album-8', chain: [picture(1), { type: 'montag' }] },
  }),
  prepares('claim', 'members', 200, CLAIMS),
  prepares('succeed', 'member-1', 200, { run: ['members'], body: { result: { bytes: 1_234 } } }),
  prepares('succeed', 'member-2', 200, { run: ['members', 1], body: { result: { bytes: 4_321 } } }),
  { path: '/v1/canvases/canvas:album-7', until: ({ items }) => items[2]?.status === 'ready' },
  shows('getCanvas', 'handed-on', 200, 'The group has ended', { query: { limit: 10 } }),
  shows('getCanvas', 'not-found', 404, 'A canvas that does not exist', { path: { id: 'canvas:album-9' } }),
  shows('previous', 'page', 200, 'The results of the group, for the last task of the chord', answerOf => ({
    ...lastOf(answerOf),
    query: { limit: 10 },
  })),
  shows('previous', 'no-list', 409, 'A task that was handed no list'),
  prepares('claim', 'last', 200, CLAIMS),
  prepares('succeed', 'last', 200, { run: ['last'], body: { result: { pages: 1 } } }),
  { path: '/v1/canvases/canvas:album-7', until: ({ status }) => status === 'succeeded' },
  shows('cancelCanvas', 'ended', 409, 'A canvas that has succeeded', { body: {} }),
  prepares('publishCanvas', 'chain', 201, { body: { key: 'album-8', chain: [picture(3), picture(4)] } }),
  shows('cancelCanvas', 'cancelled', 200, 'A chain is cancelled', {
    path: { id: 'canvas:album-8' },
    body: {},
  }),
  shows('listCanvases', 'page', 200, 'The latest canvases', { query: { limit: 10 } }),
]
