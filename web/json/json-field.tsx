import { useEffect, useId, useRef } from 'react'
import { useUnsendable } from '../parts/dialog.tsx'

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
