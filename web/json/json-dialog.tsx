import { useState } from 'react'
import { FormDialog, type Stale } from '../parts/dialog.tsx'
import { JsonField, jsonOf, jsonProblem } from './json-field.tsx'

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
