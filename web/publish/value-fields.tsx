import { useId, useState } from 'react'
import { JsonField, jsonOf, jsonProblem } from '../json/json-field.tsx'
import type { Field, JsonValue } from './schema.ts'

/** The fields of a form that have no members: each shows one value, or JSON that a form cannot express. */

export type FieldProps<Kind extends Field['kind'] = Field['kind']> = {
  readonly field: Extract<Field, { kind: Kind }>
  /** Undefined: left out. */
  readonly value: JsonValue | undefined
  readonly onChange: (value: JsonValue | undefined) => void
}

export function FlagField({ field, value, onChange }: FieldProps<'flag'>) {
  return (
    <div className="field">
      <label className="check-field">
        <input type="checkbox" checked={value === true} onChange={event => onChange(event.target.checked)} />
        <Title field={{ ...field, isRequired: false }} />
      </label>
      <Hint field={field} />
    </div>
  )
}

const LEFT_OUT = ''

export function ChoiceField({ field, value, onChange }: FieldProps<'choice'>) {
  const chosen = field.choices.findIndex(choice => JSON.stringify(choice) === JSON.stringify(value))
  return (
    <SelectField
      field={field}
      names={field.choices.map(choice => (typeof choice === 'string' ? choice : JSON.stringify(choice)))}
      chosen={chosen < 0 ? undefined : chosen}
      none={field.isRequired ? 'choose' : 'left out'}
      onChoose={index => onChange(index === undefined ? undefined : field.choices[index])}
    />
  )
}

/** A choice among names, by their positions. */
export function SelectField({
  field,
  names,
  chosen,
  none,
  onChoose,
}: {
  readonly field: Field
  readonly names: readonly string[]
  readonly chosen: number | undefined
  /** What stands for no choice. Without it a reader cannot choose nothing. */
  readonly none?: string
  readonly onChoose: (index: number | undefined) => void
}) {
  const id = useId()
  return (
    <div className="field">
      <label htmlFor={id}>
        <Title field={field} />
      </label>
      <select
        id={id}
        required={none !== undefined && field.isRequired}
        value={chosen === undefined ? LEFT_OUT : String(chosen)}
        onChange={({ target: { value } }) => onChoose(value === LEFT_OUT ? undefined : Number(value))}
      >
        {none !== undefined && <option value={LEFT_OUT}>{none}</option>}
        {names.map((name, index) => (
          <option key={name} value={String(index)}>
            {name}
          </option>
        ))}
      </select>
      <Hint field={field} />
    </div>
  )
}

export function NumberField({ field, value, onChange }: FieldProps<'number'>) {
  const id = useId()
  return (
    <div className="field">
      <label htmlFor={id}>
        <Title field={field} />
      </label>
      <input
        id={id}
        type="number"
        required={field.isRequired && !field.isNullable}
        step={field.isWhole ? 1 : 'any'}
        min={field.min}
        max={field.max}
        value={typeof value === 'number' ? value : ''}
        onChange={({ target }) => onChange(target.value === '' ? emptyOf(field) : target.valueAsNumber)}
      />
      <Hint field={field} />
    </div>
  )
}

export function TextField({ field, value, onChange }: FieldProps<'text'>) {
  const id = useId()
  const { minLength, maxLength, pattern } = field.limits
  const common = {
    id,
    required: field.isRequired && !field.isNullable,
    minLength,
    maxLength,
    value: typeof value === 'string' ? value : '',
    onChange: ({ target }: { target: { value: string } }) =>
      onChange(target.value === '' ? emptyOf(field) : target.value),
  }
  return (
    <div className="field">
      <label htmlFor={id}>
        <Title field={field} />
      </label>
      {field.isLong ? (
        <textarea rows={4} {...common} />
      ) : (
        <input type={field.type} pattern={pattern} {...common} />
      )}
      <Hint field={field} />
    </div>
  )
}

/** A part of the input that a form cannot express. While its text is not JSON, its form cannot be sent. */
export function FreeField({ field, value, onChange }: FieldProps<'json'>) {
  const [text, setText] = useState(value === undefined ? '' : JSON.stringify(value, undefined, 2))
  return (
    <JsonField
      label={field.title}
      text={text}
      rows={3}
      hint={field.hint ?? 'JSON; empty to leave it out.'}
      onChange={changed => {
        setText(changed)
        if (jsonProblem(changed) === undefined) onChange(jsonOf(changed) as JsonValue | undefined)
      }}
    />
  )
}

/** What an emptied field stands for: null where the schema allows it and demands a value, else nothing. */
function emptyOf({ isRequired, isNullable }: Field): JsonValue | undefined {
  return isRequired && isNullable ? null : undefined
}

export function Title({
  field: { title, isRequired },
}: {
  readonly field: Pick<Field, 'title' | 'isRequired'>
}) {
  return (
    <span>
      {title}
      {isRequired && (
        <span className="required" aria-hidden>
          {' '}
          *
        </span>
      )}
    </span>
  )
}

export function Hint({ field: { hint } }: { readonly field: Pick<Field, 'hint'> }) {
  return hint === undefined ? null : <p className="faint">{hint}</p>
}
