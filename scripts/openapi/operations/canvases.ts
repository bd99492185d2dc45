import { canvasAnswer, canvasBody, canvasPublished } from '../../../shared/api/canvases.ts'
import type { Operation } from './operation.ts'

export const canvasOperations = {
  publishCanvas: {
    tag: 'Canvases',
    summary: 'Publish a chain, a group or a chord of tasks',
    description:
      'A canvas has one of the fields `chain`, `group` and `chord`, and its members may be canvases again. A chain runs its members one after the other and hands each result on. A group runs its members side by side. A chord runs `then` after its group, with all results. With a `key` the call may be repeated.',
    body: canvasBody,
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
    answers: { 200: { description: 'The canvas.', schema: canvasAnswer } },
    problems: ['not-found'],
  },
  cancelCanvas: {
    tag: 'Canvases',
    summary: 'Cancel a canvas and its tasks',
    description:
      'The tasks that have not ended are cancelled, and no further ones are published. The call may be repeated. A canvas that has ended in another way is refused with 409.',
    answers: { 200: { description: 'The cancelled canvas.', schema: canvasAnswer } },
    problems: ['not-found', 'conflict'],
  },
} as const satisfies Record<string, Operation>
