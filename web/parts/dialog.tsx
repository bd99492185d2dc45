import { X } from 'lucide-react'
import { createContext, type ReactNode, useContext, useEffect, useId, useReducer } from 'react'
import { isStale, problemText } from '../api/baton.ts'
import { Acting, Button, type ButtonProps, IconButton, Opener, tellProblem, useAction } from './controls.tsx'
import { visible } from './format.ts'

type DialogProps = {
  readonly title: string
  readonly onClose: () => void
  readonly children: ReactNode
  readonly look?: 'middle' | 'wide' | 'side'
}

/**
 * A dialog of the browser itself: it keeps the focus, closes on Escape, and makes the page behind it inert. It is drawn only while
 * it is open, so its state begins afresh each time.
 */
export function Dialog({ title, onClose, children, look = 'middle' }: DialogProps) {
  const titleId = useId()
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Escape closes the dialog; the click is one on the ground behind it
    <dialog
      ref={showModal}
      className={`dialog ${look}`}
      aria-labelledby={titleId}
      onClose={onClose}
      onClick={({ target, currentTarget }) => target === currentTarget && onClose()}
    >
      <div className="dialog-frame">
        <header className="dialog-head">
          <h2 id={titleId}>{title}</h2>
          <IconButton icon={X} size={16} label="Close" onClick={onClose} />
        </header>
        {children}
      </div>
    </dialog>
  )
}

/** The browser would give the focus to the first button, which closes the dialog. */
function showModal(dialog: HTMLDialogElement | null): void {
  dialog?.showModal()
  dialog?.querySelector<HTMLElement>('[data-first], .dialog-body :is(input, select, textarea)')?.focus()
}

/** How many fields of the form around hold a text that has no value, so that the form would send an earlier one. */
export const UnsendableContext = createContext({ unsendable: 0, count: (_by: number) => {} })

/** Keeps the form around from being sent for as long as this field holds a text that has no value. */
export function useUnsendable(isUnsendable: boolean): void {
  const { count } = useContext(UnsendableContext)
  useEffect(() => {
    if (!isUnsendable) return
    count(1)
    return () => count(-1)
  }, [count, isUnsendable])
}

export type Stale = {
  readonly error: unknown
  /** What the other person has changed. */
  readonly differences?: readonly string[]
  readonly onStartOver: () => Promise<void>
}

/** Says by the API's words which person was faster. What the reader has written stays until the reader starts over. */
function StaleNote({ error, differences = [], onStartOver }: Stale) {
  return (
    <div className="stale-note" role="alert">
      <div className="isolated">
        <strong>Another person was faster.</strong> {visible(problemText(error))}
        <ul>
          {differences.map(text => (
            <li key={text} className="mono">
              {text}
            </li>
          ))}
        </ul>
      </div>
      <Button
        text="Start over from the present state"
        onClick={() => void onStartOver().catch(tellProblem)}
      />
    </div>
  )
}

/** The frame of dialogs that send a form: its fields, and the two buttons below them. */
export function FormDialog({
  title,
  look = 'wide',
  action,
  actionLook = 'accent',
  refusal = 'Keep as it is',
  isReady = true,
  stale,
  onSubmit,
  onClose,
  children,
}: {
  readonly title: string
  readonly look?: 'middle' | 'wide'
  /** What the button does that sends the form. */
  readonly action: string
  readonly actionLook?: 'accent' | 'danger'
  readonly refusal?: string
  readonly isReady?: boolean
  /** Why the form was refused, and what shows the present state in it. The form says when another person was faster. */
  readonly stale?: Stale
  readonly onSubmit: (form: FormData) => void
  readonly onClose: () => void
  readonly children: ReactNode
}) {
  const [unsendable, count] = useReducer((sum: number, by: number) => sum + by, 0)
  return (
    <Dialog title={title} look={look} onClose={onClose}>
      <form
        onSubmit={event => {
          event.preventDefault()
          onSubmit(new FormData(event.currentTarget))
        }}
      >
        <div className="dialog-body">
          {stale && isStale(stale.error) && <StaleNote {...stale} />}
          <UnsendableContext value={{ unsendable, count }}>{children}</UnsendableContext>
        </div>
        <footer className="dialog-foot">
          <Button text={refusal} onClick={onClose} data-first />
          <Button look={actionLook} type="submit" text={action} disabled={!isReady || unsendable > 0} />
        </footer>
      </form>
    </Dialog>
  )
}

type AskedActionProps<Answer> = Parameters<typeof useAction<void, Answer>>[0] &
  Omit<ButtonProps, 'onClick'> & {
    readonly title: string
    readonly question: ReactNode
    /** The verb on the button of the dialog. @default the text of the button that opens it */
    readonly action?: string
  }

/** A button whose action is only done when the reader has confirmed what it will do. */
export function AskedAction<Answer>(props: AskedActionProps<Answer>) {
  const { title, question, text = '', action = text, ...given } = props
  const { run: _run, done: _done, changes: _changes, after: _after, onRefused: _refused, ...button } = given
  const mutation = useAction(given)
  const confirm = { title, action, isDanger: button.look === 'danger', onConfirm: () => mutation.mutate() }
  const dialog = (close: () => void) => (
    <Confirm {...confirm} onClose={close}>
      {typeof question === 'string' ? <p className="isolated">{question}</p> : question}
    </Confirm>
  )
  return (
    <Acting>
      <Opener {...button} text={text} disabled={mutation.isPending} dialog={dialog} />
    </Acting>
  )
}

type ConfirmProps = Pick<Parameters<typeof FormDialog>[0], 'title' | 'action' | 'isReady' | 'children'> & {
  readonly isDanger?: boolean
  readonly onConfirm: () => void
  readonly onClose: () => void
}

/** Asks before something that cannot be taken back. The safe answer has the focus. */
export function Confirm({ isDanger = false, onConfirm, onClose, ...form }: ConfirmProps) {
  const confirm = () => {
    onClose()
    onConfirm()
  }
  const actionLook = isDanger ? 'danger' : 'accent'
  return <FormDialog {...form} look="middle" actionLook={actionLook} onSubmit={confirm} onClose={onClose} />
}
