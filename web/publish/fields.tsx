import { createContext, type ReactNode, useContext, useId } from 'react'
import type { FieldProblem } from '../../shared/core/values/values.ts'
import { Select } from '../parts/controls.tsx'
import { JsonField } from '../parts/json.tsx'
import { emptyOf, type Field, type JsonValue } from './schema.ts'

/** The fields of a form that show one value, or JSON that a form cannot express. Each shows what is wrong with it. */

export type FieldProps<Kind extends Field['kind'] = Field['kind']> = {
  readonly field: Extract<Field, { kind: Kind }>
  /** Undefined: left out. */
  readonly value: JsonValue | undefined
  readonly onChange: (value: JsonValue | undefined) => void
}

/** What is wrong with the value of the form, by the rules of the API. */
export const ProblemsContext = createContext<readonly FieldProblem[]>([])
/** The path of a field in the body that is sent. */
export const PathContext = createContext('')

function useProblem(): string | undefined {
  const own = useContext(PathContext)
  return useContext(ProblemsContext).find(({ path }) => path === own)?.message
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
  /** The text of the empty choice. Without it a reader cannot choose nothing. */
  readonly none?: string
  readonly onChoose: (index: number | undefined) => void
}

/** A choice among names, by their positions. */
export function SelectField({ field, names, chosen, none, onChoose }: SelectProps) {
  const options = names.map((name, index) => [String(index), name] as const)
  return (
    <Labelled field={field}>
      {props => (
        <Select
          {...props}
          required={none !== undefined && field.isRequired}
          value={chosen === undefined ? LEFT_OUT : String(chosen)}
          options={none === undefined ? options : [[LEFT_OUT, none], ...options]}
          onChoose={value => onChoose(value === LEFT_OUT ? undefined : Number(value))}
        />
      )}
    </Labelled>
  )
}

export function NumberField({ field, value, onChange }: FieldProps<'number'>) {
  const { unit } = field
  const round = (shown: number) => (unit === 1 ? shown : Math.round(shown))
  return (
    <Labelled field={field}>
      {props => (
        <input
          {...props}
          type="number"
          required={field.isRequired && !field.isNullable}
          step={field.isWhole && unit === 1 ? 1 : 'any'}
          min={field.min && field.min / unit}
          max={field.max && field.max / unit}
          value={typeof value === 'number' ? value / unit : ''}
          onChange={({ target }) =>
            onChange(target.value === '' ? emptyOf(field) : round(target.valueAsNumber * unit))
          }
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
      {props =>
        field.isLong ? (
          <textarea rows={4} {...props} {...common} />
        ) : (
          <input {...props} type={field.type} pattern={pattern} {...common} />
        )
      }
    </Labelled>
  )
}

type LabelledProps = {
  readonly field: Field
  readonly children: (props: { readonly id: string; readonly 'aria-invalid': boolean }) => ReactNode
}

/** A field under its title, with its hint below it. */
function Labelled({ field, children }: LabelledProps) {
  const id = useId()
  const isInvalid = useProblem() !== undefined
  return (
    <div className="field">
      <label htmlFor={id}>
        <Title field={field} />
      </label>
      {children({ id, 'aria-invalid': isInvalid })}
      <Hint field={field} />
    </div>
  )
}

/** A part of the input that a form cannot express. While its text is not JSON, its form cannot be sent. */
export function FreeField({ field, value, onChange }: FieldProps<'json'>) {
  const hint = useProblem() ?? field.hint ?? 'JSON; empty to leave it out.'
  return <JsonField label={field.title} first={value} onChange={onChange} rows={3} hint={hint} />
}

export function Title({ field: { title, isRequired } }: { readonly field: Field }) {
  return (
    <span>
      {title}
      {isRequired && <span className="required" aria-hidden>{` *`}</span>}
    </span>
  )
}

/** What is wrong with the field, or what it is for. */
export function Hint({ field: { hint } }: { readonly field: Field }) {
  const problem = useProblem()
  if (problem !== undefined) return <p className="bad isolated">{problem}</p>
  return hint === undefined ? null : <p className="faint">{hint}</p>
}
