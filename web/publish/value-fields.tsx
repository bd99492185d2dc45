import { type ReactNode, useId } from 'react'
import { JsonField } from '../parts/json.tsx'
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

type SelectProps = {
  readonly field: Field
  readonly names: readonly string[]
  readonly chosen: number | undefined
  /** What stands for no choice. Without it a reader cannot choose nothing. */
  readonly none?: string
  readonly onChoose: (index: number | undefined) => void
}

/** A choice among names, by their positions. */
export function SelectField({ field, names, chosen, none, onChoose }: SelectProps) {
  return (
    <Labelled field={field}>
      {id => (
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
      )}
    </Labelled>
  )
}

export function NumberField({ field, value, onChange }: FieldProps<'number'>) {
  return (
    <Labelled field={field}>
      {id => (
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
      )}
    </Labelled>
  )
}

export function TextField({ field, value, onChange }: FieldProps<'text'>) {
  const { minLength, maxLength, pattern } = field.limits
  const common = {
    required: field.isRequired && !field.isNullable,
    minLength,
    maxLength,
    value: typeof value === 'string' ? value : '',
    onChange: ({ target }: { target: { value: string } }) =>
      onChange(target.value === '' ? emptyOf(field) : target.value),
  }
  return (
    <Labelled field={field}>
      {id =>
        field.isLong ? (
          <textarea id={id} rows={4} {...common} />
        ) : (
          <input id={id} type={field.type} pattern={pattern} {...common} />
        )
      }
    </Labelled>
  )
}

type LabelledProps = { readonly field: Field; readonly children: (id: string) => ReactNode }

/** A field under its title, with its hint below it. */
function Labelled({ field, children }: LabelledProps) {
  const id = useId()
  return (
    <div className="field">
      <label htmlFor={id}>
        <Title field={field} />
      </label>
      {children(id)}
      <Hint field={field} />
    </div>
  )
}

/** A part of the input that a form cannot express. While its text is not JSON, its form cannot be sent. */
export function FreeField({ field, value, onChange }: FieldProps<'json'>) {
  const hint = field.hint ?? 'JSON; empty to leave it out.'
  return <JsonField label={field.title} first={value} onChange={onChange} rows={3} hint={hint} />
}

/** What an emptied field stands for: null where the schema allows it and demands a value, else nothing. */
function emptyOf({ isRequired, isNullable }: Field): JsonValue | undefined {
  return isRequired && isNullable ? null : undefined
}

type Titled = { readonly field: Pick<Field, 'title' | 'isRequired'> }

export function Title({ field: { title, isRequired } }: Titled) {
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
