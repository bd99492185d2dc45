import { z } from 'zod'
import { defineTask } from '../../../shared/define/define-task.ts'
import { Fatal } from '../../../shared/signals.ts'

const numbers = z.array(z.number())

export const add = defineTask('add', {
  input: numbers,
  run: terms => terms.reduce((sum, term) => sum + term, 0),
})

export const multiply = defineTask('multiply', {
  input: numbers,
  run: factors => factors.reduce((product, factor) => product * factor, 1),
})

/** Fails with the given message. */
export const fail = defineTask('fail', {
  input: z.array(z.string()).min(1),
  run([message]): never {
    throw new Fatal(message)
  },
})

/** Returns its input and the value that was handed on. */
export const note = defineTask('note', {
  input: z.array(z.unknown()),
  run: (words, { previous = null }) => ({ words, previous }),
})
