import { type QueryKey, useMutation } from '@tanstack/react-query'
import { CircleAlert, CircleCheck, type LucideIcon, Pause, Play, X } from 'lucide-react'
import { type ComponentProps, type ReactNode, useId, useState } from 'react'
import { problemText } from '../api/baton.ts'
import { renew } from '../api/queries.ts'
import { createStore, readOnly, useStore } from '../api/store.ts'

/** What a reader presses and fills in, and the short messages about what a reader has done. */

export type ButtonProps = Omit<ComponentProps<'button'>, 'children'> & {
  readonly look?: 'plain' | 'accent' | 'danger' | 'quiet'
  readonly icon?: LucideIcon | undefined
  readonly iconSize?: number
  /** A button without a text has an `aria-label`. */
  readonly text?: string | undefined
}

export function Button({ look = 'plain', icon: Icon, iconSize = 14, text, ...given }: ButtonProps) {
  return (
    <button type="button" className={`button ${look}`} {...given}>
      {Icon && <Icon size={iconSize} aria-hidden />}
      {text}
    </button>
  )
}

/** A button that opens a dialog. The dialog receives what closes it. */
export function Opener({
  dialog,
  ...button
}: ButtonProps & { readonly dialog: (close: () => void) => ReactNode }) {
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <Button {...button} onClick={() => setOpen(true)} />
      {isOpen && dialog(() => setOpen(false))}
    </>
  )
}

type IconButtonProps = ComponentProps<'button'> & {
  readonly icon: LucideIcon
  readonly size?: number
  /** What it does, in words that a screen reader reads. */
  readonly label: string
}

export function IconButton({ icon: Icon, size = 14, label, children, ...given }: IconButtonProps) {
  return (
    <button type="button" className="icon-button" aria-label={label} {...given}>
      <Icon size={size} aria-hidden />
      {children}
    </button>
  )
}

export function InputField({ label, ...input }: ComponentProps<'input'> & { readonly label: string }) {
  return (
    <label className="field">
      {label}
      <input {...input} />
    </label>
  )
}

type SelectProps = Omit<ComponentProps<'select'>, 'onChange'> & {
  readonly label?: string
  readonly options: ReadonlyArray<readonly [value: string, name: string]>
  readonly onChoose: (value: string) => void
}

/** A choice of one of some texts, under its label if it has one. */
export function Select({ label, options, onChoose, ...given }: SelectProps) {
  const id = useId()
  const select = (
    <select id={id} {...given} onChange={({ target }) => onChoose(target.value)}>
      {options.map(([value, name]) => (
        <option key={value} value={value}>
          {name}
        </option>
      ))}
    </select>
  )
  if (label === undefined) return select
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      {select}
    </div>
  )
}

type SegmentsProps<Choice> = {
  readonly label: string
  readonly choices: readonly Choice[]
  readonly chosen: Choice
  readonly disabled?: boolean
  readonly onChoose: (choice: Choice) => void
}

/** A choice of one of a few words, which stay side by side. */
export function Segments<Choice extends string>({ label, choices, chosen, ...given }: SegmentsProps<Choice>) {
  return (
    <fieldset className="segments" aria-label={label}>
      {choices.map(one => (
        <button
          key={one}
          type="button"
          aria-pressed={one === chosen}
          disabled={given.disabled}
          onClick={() => given.onChoose(one)}
        >
          {one}
        </button>
      ))}
    </fieldset>
  )
}

/** Buttons that change something. A page that may only read does not have them. */
export function Acting({ children }: { readonly children: ReactNode }) {
  return useStore(readOnly) ? null : children
}

/** Whether a key is meant for the page: not for a field, a dialog or the browser. */
export function isForPage({ target, ctrlKey, metaKey, altKey }: KeyboardEvent): boolean {
  const isField = target instanceof Element && target.closest('input, textarea, select, [contenteditable]')
  return !isField && !ctrlKey && !metaKey && !altKey && !document.querySelector('dialog[open]')
}

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
  return (
    <Acting>
      <Button icon={icon} text={text} onClick={() => action.mutate()} disabled={action.isPending} />
    </Acting>
  )
}

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

export async function copyText(text: string, name = text): Promise<void> {
  await navigator.clipboard.writeText(text)
  notify(`Copied ${name}`)
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
