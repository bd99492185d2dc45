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

type FieldNews = readonly [field: string, isUnsendable: boolean]

type FormState = {
  /** Whether a field holds a text that has no value. */
  readonly isUnsendable: boolean
  readonly report: (news: FieldNews) => void
}

const FormContext = createContext<FormState>({ isUnsendable: false, report: () => {} })

/** Whether a field of the form around holds a text that has no value, so that the form would send an earlier one. */
export function useFormUnsendable(): boolean {
  return useContext(FormContext).isUnsendable
}

/** Keeps the form around from being sent for as long as this field holds a text that has no value. */
export function useUnsendable(isUnsendable: boolean): void {
  const field = useId()
  const { report } = useContext(FormContext)
  useEffect(() => {
    report([field, isUnsendable])
    return () => report([field, false])
  }, [report, field, isUnsendable])
}

/** The fields that hold a text without a value, after a field has reported itself. */
function fieldsAfter(known: ReadonlySet<string>, [field, isUnsendable]: FieldNews): ReadonlySet<string> {
  if (known.has(field) === isUnsendable) return known
  const others = [...known].filter(one => one !== field)
  return new Set(isUnsendable ? [...others, field] : others)
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
  refusal = 'Close',
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
  const [fields, report] = useReducer(fieldsAfter, new Set<string>())
  const isUnsendable = fields.size > 0
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
          <FormContext value={{ isUnsendable, report }}>{children}</FormContext>
        </div>
        <footer className="dialog-foot">
          <Button text={refusal} onClick={onClose} />
          <Button look={actionLook} type="submit" text={action} disabled={!isReady || isUnsendable} />
        </footer>
      </form>
    </Dialog>
  )
}

type AskedActionProps<Answer> = Parameters<typeof useAction<void, Answer>>[0] &
  Pick<ButtonProps, 'icon'> & { readonly text: string; readonly title: string; readonly question: string }

/** A button whose action is only done when the reader has confirmed what it will do. */
export function AskedAction<Answer>({ icon, text, title, question, ...given }: AskedActionProps<Answer>) {
  const action = useAction(given)
  const dialog = (close: () => void) => (
    <Confirm title={title} action={text} onConfirm={() => action.mutate()} onClose={close}>
      <p className="isolated">{question}</p>
    </Confirm>
  )
  return (
    <Acting>
      <Opener icon={icon} text={text} disabled={action.isPending} dialog={dialog} />
    </Acting>
  )
}

/** Asks before something that cannot be taken back. The safe answer has the focus. */
export function Confirm({
  title,
  action,
  children,
  isDanger = false,
  isReady = true,
  onConfirm,
  onClose,
}: {
  readonly title: string
  /** The verb on the button, such as `Remove`. */
  readonly action: string
  readonly children: ReactNode
  readonly isDanger?: boolean
  readonly isReady?: boolean
  readonly onConfirm: () => void
  readonly onClose: () => void
}) {
  const confirm = () => {
    onClose()
    onConfirm()
  }
  return (
    <Dialog title={title} onClose={onClose}>
      <div className="dialog-body">{children}</div>
      <footer className="dialog-foot">
        <Button text="Keep as it is" onClick={onClose} data-first />
        <Button look={isDanger ? 'danger' : 'accent'} text={action} onClick={confirm} disabled={!isReady} />
      </footer>
    </Dialog>
  )
}
