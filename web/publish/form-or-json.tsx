import { type ReactNode, useState } from 'react'
import { useFormUnsendable } from '../parts/dialog.tsx'
import { JsonField } from '../parts/json.tsx'

type FormOrJsonProps<Value> = {
  readonly label: string
  readonly hint: string
  readonly rows?: number
  readonly first: Value | undefined
  readonly onChange: (value: Value | undefined) => void
  /** Draws the form. Without it there is JSON only. */
  readonly form:
    | ((value: Value | undefined, onChange: (value: Value | undefined) => void) => ReactNode)
    | undefined
}

/** A value that a reader changes in a form or as JSON. */
export function FormOrJson<Value>({ label, first, onChange, form, ...json }: FormOrJsonProps<Value>) {
  const [isText, setText] = useState(form === undefined)
  const [value, setValue] = useState(first)
  const change = (changed: Value | undefined) => {
    setValue(changed)
    onChange(changed)
  }
  return (
    <div className="stack">
      {form && <Choice label={label} isText={isText} onChoose={setText} />}
      {form && !isText ? (
        form(value, change)
      ) : (
        <JsonField label={label} first={value} onChange={change} {...json} />
      )}
    </div>
  )
}

type ChoiceProps = {
  readonly label: string
  readonly isText: boolean
  readonly onChoose: (isText: boolean) => void
}

function Choice({ label, isText, onChoose }: ChoiceProps) {
  // The text without a value would be lost when the reader leaves it.
  const isStuck = useFormUnsendable()
  return (
    <fieldset className="segments" aria-label={`${label} as`}>
      <button type="button" aria-pressed={!isText} disabled={isStuck} onClick={() => onChoose(false)}>
        Form
      </button>
      <button type="button" aria-pressed={isText} disabled={isStuck} onClick={() => onChoose(true)}>
        JSON
      </button>
    </fieldset>
  )
}
