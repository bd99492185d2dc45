import { canvasAnswer, canvasBody, canvasPublished } from '../../../shared/api/canvases.ts'
import type { Operation } from './operation.ts'

export const canvasOperations = {
  publishCanvas: {
    tag: 'Canvases',
    summary: 'Publish a chain, a group or a chord of tasks',
    description:
      'A canvas has one of the fields `chain`, `group` and `chord`, and its members may be canvases again. A chain runs its members one after the other and hands each result on. A group runs its members side by side. A chord runs `then` after its group, with all results. With a `key` the call may be repeated.',
    body: canvasBody,
    example: {
      body: {
        key: 'album-7',
        chord: {
          group: [
            { type: 'resize', input: { url: 'https://example.com/1.jpg', width: 200 } },
            { type: 'resize', input: { url: 'https://example.com/2.jpg', width: 200 } },
          ],
          // biome-ignore lint/suspicious/noThenProperty: the word of the API
          then: { type: 'montage', input: { title: 'Album 7' } },
        },
      },
    },
    answers: {
      200: { description: 'A canvas with this key exists.', schema: canvasPublished },
      201: { description: 'The canvas was created.', schema: canvasPublished, location: 'the canvas' },
      202: {
        description: 'The canvas was stored. It has more than 1,000 tasks, which are being published.',
        schema: canvasPublished,
        location: 'the canvas',
      },
    },
    problems: ['unknown-type'],
  },
  getCanvas: {
    tag: 'Canvases',
    summary: 'Get a canvas',
    description: 'Shows the canvas, its result, and a page of its tasks in the order of its body.',
    example: { path: { id: 'canvas:album-7' }, query: { limit: 10 } },
    answers: { 200: { description: 'The canvas.', schema: canvasAnswer } },
    problems: ['not-found'],
  },
  cancelCanvas: {
    tag: 'Canvases',
    summary: 'Cancel a canvas and its tasks',
    description:
      'The tasks that have not ended are cancelled, and no further ones are published. The call may be repeated. A canvas that has ended in another way is refused with 409.',
    example: { path: { id: 'canvas:album-7' } },
    answers: { 200: { description: 'The cancelled canvas.', schema: canvasAnswer } },
    problems: ['not-found', 'conflict'],
  },
} as const satisfies Record<string, Operation>
