import { useEffect, useId, useRef, useState } from 'react'
import { FormDialog, type Stale, useUnsendable } from '../parts/dialog.tsx'

/** A field for JSON. While its text is none, it says why, and the form around it cannot be sent. */
export function JsonField({
  label,
  text,
  onChange,
  rows = 10,
  hint,
}: {
  readonly label: string
  readonly text: string
  readonly onChange: (text: string) => void
  readonly rows?: number
  readonly hint?: string
}) {
  const id = useId()
  const problem = jsonProblem(text)
  const area = useRef<HTMLTextAreaElement>(null)
  useEffect(() => area.current?.setCustomValidity(problem ?? ''), [problem])
  useUnsendable(problem !== undefined)
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <textarea
        ref={area}
        id={id}
        className="mono"
        rows={rows}
        spellCheck={false}
        value={text}
        aria-invalid={problem !== undefined}
        aria-describedby={`${id}-note`}
        onChange={event => onChange(event.target.value)}
      />
      <p id={`${id}-note`} className={problem ? 'bad' : 'faint'}>
        {problem ?? hint ?? ' '}
      </p>
    </div>
  )
}

/** Why the text is not JSON; undefined when it is. An empty text stands for no value. */
export function jsonProblem(text: string): string | undefined {
  try {
    if (text.trim() !== '') JSON.parse(text)
    return undefined
  } catch (error) {
    return `This is not JSON yet: ${error instanceof Error ? error.message : String(error)}`
  }
}

/** The value of a text without a problem. */
export function jsonOf(text: string): unknown {
  return text.trim() === '' ? undefined : JSON.parse(text)
}

/** Edits one JSON value as text. The API says which field is wrong, and the text stays as it is. */
export function JsonDialog<Value>({
  title,
  label,
  value,
  hint,
  isSending,
  stale,
  onSave,
  onClose,
}: {
  readonly title: string
  readonly label: string
  readonly value: Value
  readonly hint: string
  readonly isSending: boolean
  readonly stale: Stale
  readonly onSave: (value: Value) => void
  readonly onClose: () => void
}) {
  const [text, setText] = useState(() => JSON.stringify(value, undefined, 2))
  const isWhole = jsonProblem(text) === undefined && text.trim() !== ''
  return (
    <FormDialog
      title={title}
      action="Save"
      refusal="Keep as it is"
      isReady={!isSending && isWhole}
      stale={stale}
      onSubmit={() => onSave(jsonOf(text) as Value)}
      onClose={onClose}
    >
      <JsonField label={label} text={text} onChange={setText} rows={18} hint={hint} />
    </FormDialog>
  )
}
