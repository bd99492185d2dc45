import { type QueryKey, useMutation } from '@tanstack/react-query'
import { CircleAlert, CircleCheck, X } from 'lucide-react'
import { problemText } from '../api/baton.ts'
import { renew } from '../api/queries.ts'
import { createStore, useStore } from '../api/store.ts'

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

/** Short messages about what a reader has done. */

type Toast = { readonly id: number; readonly text: string; readonly isProblem: boolean }

const SHOWN_MS = 6_000
const SHOWN_MAX = 4

const toasts = createStore<readonly Toast[]>([])
let lastId = 0

function say(text: string): void {
  show(text, false)
}

export function sayProblem(error: unknown): void {
  show(problemText(error), true)
}

function show(text: string, isProblem: boolean): void {
  lastId += 1
  const id = lastId
  toasts.set([...toasts.get(), { id, text, isProblem }].slice(-SHOWN_MAX))
  // A problem stays until it is read.
  if (!isProblem) setTimeout(hide, SHOWN_MS, id)
}

function hide(id: number): void {
  toasts.set(toasts.get().filter(toast => toast.id !== id))
}

export function Toasts() {
  const shown = useStore(toasts)
  return (
    <div className="toasts" role="status" aria-live="polite">
      {shown.map(({ id, text, isProblem }) => (
        <div key={id} className="toast" data-tone={isProblem ? 'bad' : 'good'}>
          {isProblem ? <CircleAlert size={16} aria-hidden /> : <CircleCheck size={16} aria-hidden />}
          <bdi>{text}</bdi>
          <button type="button" className="icon-button" onClick={() => hide(id)} aria-label="Dismiss">
            <X size={14} aria-hidden />
          </button>
        </div>
      ))}
    </div>
  )
}
