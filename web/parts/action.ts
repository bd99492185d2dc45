import { type QueryKey, useMutation } from '@tanstack/react-query'
import { renew } from '../api/queries.ts'
import { say, sayProblem } from './toasts.tsx'

/** An action of a reader: it tells how it went, and has the answers that it changes asked again. */
export function useAction<Argument = void, Answer = unknown>({
  run,
  done,
  changes,
  after,
  onRefused,
}: {
  readonly run: (argument: Argument) => Promise<Answer>
  /** What to tell when it has succeeded. */
  readonly done: string | ((answer: Answer) => string)
  /** The beginnings of the keys of the answers that it changes. */
  readonly changes: readonly QueryKey[]
  readonly after?: (answer: Answer) => void
  readonly onRefused?: ((error: unknown) => void) | undefined
}) {
  return useMutation({
    mutationFn: run,
    onSuccess: answer => {
      say(typeof done === 'string' ? done : done(answer))
      after?.(answer)
    },
    onError: error => {
      sayProblem(error)
      onRefused?.(error)
    },
    onSettled: () => {
      for (const key of changes) renew(key)
    },
  })
}
