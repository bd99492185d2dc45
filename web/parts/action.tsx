import { type QueryKey, useMutation } from '@tanstack/react-query'
import { CircleAlert, CircleCheck, Pause, Play, X } from 'lucide-react'
import { problemText } from '../api/baton.ts'
import { renew } from '../api/queries.ts'
import { createStore, useStore } from '../api/store.ts'
import { Button, type ButtonProps, IconButton } from './controls.tsx'

type Action<Argument, Answer> = {
  readonly run: (argument: Argument) => Promise<Answer>
  /** What to report when it has succeeded. */
  readonly done: string | ((answer: Answer) => string)
  /** The beginnings of the keys of the answers that it changes. */
  readonly changes: readonly QueryKey[]
  readonly after?: (answer: Answer) => void
  readonly onRefused?: (error: unknown) => void
}

/** An action of a reader: it reports the outcome, and the answers that it changes are read again. */
export function useAction<Argument = void, Answer = unknown>(action: Action<Argument, Answer>) {
  const { run, done, changes, after, onRefused } = action
  return useMutation({
    mutationFn: run,
    onSuccess: answer => {
      notify(typeof done === 'string' ? done : done(answer))
      after?.(answer)
    },
    onError: error => {
      tellProblem(error)
      onRefused?.(error)
    },
    onSettled: () => {
      for (const key of changes) renew(key)
    },
  })
}

type ActionButtonProps<Answer> = Action<void, Answer> & Pick<ButtonProps, 'icon' | 'text'>

/** A button that begins an action, and cannot be pressed again while it is under way. */
export function ActionButton<Answer>({ icon, text, ...given }: ActionButtonProps<Answer>) {
  const action = useAction(given)
  return <Button icon={icon} text={text} onClick={() => action.mutate()} disabled={action.isPending} />
}

/** Pauses what runs, or resumes what is paused. */
export function PauseButton({ isPaused, ...action }: Action<void, unknown> & { readonly isPaused: boolean }) {
  return <ActionButton {...action} icon={isPaused ? Play : Pause} text={isPaused ? 'Resume' : 'Pause'} />
}

/** Short messages about what a reader has done. */

type Toast = { readonly id: number; readonly text: string; readonly isProblem: boolean }

const SHOWN_MS = 6_000
const SHOWN_MAX = 4

const toasts = createStore<readonly Toast[]>([])
let lastId = 0

export function tellProblem(error: unknown): void {
  notify(problemText(error), true)
}

function notify(text: string, isProblem = false): void {
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
          <IconButton icon={X} label="Dismiss" onClick={() => hide(id)} />
        </div>
      ))}
    </div>
  )
}
