import { createContext, type ReactNode, useContext, useId, useState } from 'react'
import type { FieldProblem } from '../../shared/core/values/values.ts'
import { useUnsendable } from '../parts/dialog.tsx'
import { JsonField } from '../parts/json.tsx'
import { emptyOf, type Field, type JsonValue } from './schema.ts'
import { spanOf, spanText } from './span.ts'

/** The fields of a form that show one value, or JSON that a form cannot express. */

export type FieldProps<Kind extends Field['kind'] = Field['kind']> = {
  readonly field: Extract<Field, { kind: Kind }>
  /** The path by which a refusal of the API names the field. */
  readonly path: string
  /** Undefined: left out. */
  readonly value: JsonValue | undefined
  readonly onChange: (value: JsonValue | undefined) => void
}

/** What is wrong with the value of the form. Each field shows its own problem. */
export const ProblemsContext = createContext<readonly FieldProblem[]>([])

function useProblem(path: string): string | undefined {
  return useContext(ProblemsContext).find(problem => problem.path === path)?.message
}

export function FlagField({ field, path, value, onChange }: FieldProps<'flag'>) {
  return (
    <div className="field">
      <label className="check-field">
        <input type="checkbox" checked={value === true} onChange={event => onChange(event.target.checked)} />
        <Title field={{ ...field, isRequired: false }} />
      </label>
      <Hint field={field} path={path} />
    </div>
  )
}

const LEFT_OUT = ''

export function ChoiceField({ field, path, value, onChange }: FieldProps<'choice'>) {
  const chosen = field.choices.findIndex(choice => JSON.stringify(choice) === JSON.stringify(value))
  return (
    <SelectField
      field={field}
      path={path}
      names={field.choices.map(choice => (typeof choice === 'string' ? choice : JSON.stringify(choice)))}
      chosen={chosen < 0 ? undefined : chosen}
      none={field.isRequired ? 'choose' : 'left out'}
      onChoose={index => onChange(index === undefined ? undefined : field.choices[index])}
    />
  )
}

type SelectProps = {
  readonly field: Field
  readonly path: string
  readonly names: readonly string[]
  readonly chosen: number | undefined
  /** The text of the empty choice. Without it a reader cannot choose nothing. */
  readonly none?: string
  readonly onChoose: (index: number | undefined) => void
}

/** A choice among names, by their positions. */
export function SelectField({ field, path, names, chosen, none, onChoose }: SelectProps) {
  return (
    <Labelled field={field} path={path}>
      {props => (
        <select
          {...props}
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

export function NumberField({ field, path, value, onChange }: FieldProps<'number'>) {
  return (
    <Labelled field={field} path={path}>
      {props => (
        <input
          {...props}
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

export function TextField({ field, path, value, onChange }: FieldProps<'text'>) {
  const { minLength, maxLength, pattern } = field.limits
  const isTime = field.type === 'datetime-local'
  const common = {
    required: field.isRequired && !field.isNullable,
    minLength,
    maxLength,
    value: typeof value !== 'string' ? '' : isTime ? localTime(value) : value,
    onChange: ({ target }: { target: { value: string } }) => {
      const text = isTime ? isoTime(target.value) : target.value
      onChange(text === '' ? emptyOf(field) : text)
    },
  }
  return (
    <Labelled field={field} path={path}>
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

/** A time as a field for local times holds it. */
function localTime(iso: string): string {
  const at = new Date(iso)
  if (Number.isNaN(at.getTime())) return ''
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 19)
}

export function isoTime(local: string): string {
  return local === '' ? '' : new Date(local).toISOString()
}

/** A span of time, as text. While the text is not a span, its form cannot be sent. */
export function SpanField({ field, path, value, onChange }: FieldProps<'span'>) {
  const [text, setText] = useState(() => (typeof value === 'number' ? spanText(value) : ''))
  const isSpan = (one: string) => one.trim() === '' || spanOf(one) !== undefined
  useUnsendable(!isSpan(text))
  const change = (changed: string) => {
    setText(changed)
    if (isSpan(changed)) onChange(spanOf(changed) ?? emptyOf(field))
  }
  const strange = isSpan(text) ? undefined : 'must be a span such as 250 ms, 30 s, 5 min, 2 h or 1 d'
  return (
    <Labelled field={field} path={path} problem={strange}>
      {props => (
        <input
          {...props}
          required={field.isRequired && !field.isNullable}
          autoComplete="off"
          placeholder="such as 30 s or 5 min"
          value={text}
          onChange={({ target }) => change(target.value)}
        />
      )}
    </Labelled>
  )
}

type Described = {
  readonly id: string
  readonly 'aria-invalid': boolean
  readonly 'aria-describedby': string | undefined
}

type LabelledProps = {
  readonly field: Field
  readonly path: string
  /** What is wrong with a text that has no value. */
  readonly problem?: string | undefined
  readonly children: (props: Described) => ReactNode
}

/** A field under its title, with its problem or its hint below it. */
function Labelled({ field, path, problem, children }: LabelledProps) {
  const id = useId()
  const found = useProblem(path)
  const isInvalid = (problem ?? found) !== undefined
  const hintId = isInvalid || field.hint !== undefined ? `${id}-hint` : undefined
  return (
    <div className="field">
      <label htmlFor={id}>
        <Title field={field} />
      </label>
      {children({ id, 'aria-invalid': isInvalid, 'aria-describedby': hintId })}
      <Hint field={field} path={path} problem={problem} id={hintId} />
    </div>
  )
}

/** A part of the input that a form cannot express. While its text is not JSON, its form cannot be sent. */
export function FreeField({ field, path, value, onChange }: FieldProps<'json'>) {
  const hint = useProblem(path) ?? field.hint ?? 'JSON; empty to leave it out.'
  return <JsonField label={field.title} first={value} onChange={onChange} rows={3} hint={hint} />
}

export function Title({ field: { title, isRequired } }: { readonly field: Field }) {
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

type HintProps = Omit<LabelledProps, 'children'> & { readonly id?: string | undefined }

/** What is wrong with a field, in the words of the API, or what it is for. */
export function Hint({ field: { hint }, path, problem, id }: HintProps) {
  const found = useProblem(path)
  const text = problem ?? found
  if (text === undefined && hint === undefined) return null
  return (
    <p id={id} className={text === undefined ? 'faint' : 'bad isolated'}>
      {text ?? hint}
    </p>
  )
}
