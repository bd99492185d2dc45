import { Plus, X } from 'lucide-react'
import { useState } from 'react'
import { Button, IconButton } from '../parts/controls.tsx'
import {
  ChoiceField,
  type FieldProps,
  FlagField,
  FreeField,
  Hint,
  NumberField,
  SelectField,
  SpanField,
  TextField,
  Title,
} from './fields.tsx'
import { firstValue, type JsonValue, variantOf } from './schema.ts'

/**
 * The fields of a form, made from a schema. What a reader leaves empty is left out of the value. This file has the fields that have
 * members; `fields.tsx` has those that show one value.
 */

type FormProps = Omit<FieldProps, 'path'> & {
  /** The path of the whole value in the body that is sent. @default the value is the body */
  readonly path?: string
}

/** The members of the outermost object, without a frame of their own. */
export function SchemaForm({ field, path = '', ...rest }: FormProps) {
  if (field.kind !== 'object') return <SchemaField field={field} path={path} {...rest} />
  return <Members field={field} path={path} {...rest} />
}

function SchemaField({ field, ...rest }: FieldProps) {
  switch (field.kind) {
    case 'object':
      return <ObjectField field={field} {...rest} />
    case 'list':
      return <ListField field={field} {...rest} />
    case 'flag':
      return <FlagField field={field} {...rest} />
    case 'choice':
      return <ChoiceField field={field} {...rest} />
    case 'number':
      return <NumberField field={field} {...rest} />
    case 'span':
      return <SpanField field={field} {...rest} />
    case 'text':
      return <TextField field={field} {...rest} />
    case 'union':
      return <UnionField field={field} {...rest} />
    case 'json':
      return <FreeField field={field} {...rest} />
  }
}

function inside(path: string, name: string | number): string {
  return path === '' ? String(name) : `${path}.${name}`
}

function ObjectField(props: FieldProps<'object'>) {
  const { field, path, value, onChange } = props
  if (!field.isRequired && value === undefined)
    return (
      <div className="field">
        <span>{field.title}</span>
        <span>
          <Button
            icon={Plus}
            text={`Add ${field.title}`}
            onClick={() => onChange(firstValue({ ...field, isRequired: true }) ?? {})}
          />
        </span>
      </div>
    )
  return (
    <fieldset className="form-group">
      <legend>
        <Title field={field} />
        {!field.isRequired && (
          <button type="button" className="link-button" onClick={() => onChange(undefined)}>
            leave out
          </button>
        )}
      </legend>
      <Hint field={field} path={path} />
      <Members {...props} />
    </fieldset>
  )
}

function Members({ field, path, value, onChange }: FieldProps<'object'>) {
  const object = (
    typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {}
  ) as Record<string, JsonValue>
  return field.members.map(([name, member]) => (
    <SchemaField
      key={name}
      field={member}
      path={inside(path, name)}
      value={object[name]}
      onChange={changed => {
        const { [name]: _former, ...others } = object
        onChange(changed === undefined ? others : { ...others, [name]: changed })
      }}
    />
  ))
}

/** A choice among several objects or constants, and the members of the chosen one. */
function UnionField({ field, path, value, onChange }: FieldProps<'union'>) {
  const [chosen, setChosen] = useState(() => variantOf(field.variants, value))
  const variant = field.variants[chosen]
  return (
    <>
      <SelectField
        field={field}
        path={path}
        names={field.variants.map(({ title }) => title)}
        chosen={chosen}
        onChoose={(next = 0) => {
          setChosen(next)
          onChange(field.variants[next] && firstValue(field.variants[next]))
        }}
      />
      {variant?.kind === 'object' && (
        <Members field={variant} path={path} value={value} onChange={onChange} />
      )}
    </>
  )
}

let lastKey = 0

function newKey(): string {
  lastKey += 1
  return `item ${lastKey}`
}

/** Items have no names of their own. Each has a key next to it, so that its text stays with it when an earlier item is removed. */
function ListField({ field, path, value, onChange }: FieldProps<'list'>) {
  const items = Array.isArray(value) ? (value as readonly JsonValue[]) : []
  const [keys, setKeys] = useState<readonly string[]>(() => items.map(newKey))
  const replace = (at: number, item: JsonValue | undefined) =>
    onChange(items.map((one, index) => (index === at ? (item ?? null) : one)))
  const without = (at: number) => {
    const rest = items.filter((_, index) => index !== at)
    setKeys(keys.filter((_, index) => index !== at))
    onChange(rest.length === 0 && !field.isRequired ? undefined : rest)
  }
  const add = () => {
    setKeys([...keys, newKey()])
    onChange([...items, firstValue(field.item) ?? null])
  }
  return (
    <fieldset className="form-group">
      <legend>
        <Title field={field} />
      </legend>
      <Hint field={field} path={path} />
      {items.map((item, index) => (
        <div key={keys[index] ?? index} className="form-item">
          <SchemaField
            field={{ ...field.item, title: `${field.title} ${index + 1}` }}
            path={inside(path, index)}
            value={item ?? undefined}
            onChange={changed => replace(index, changed)}
          />
          <IconButton icon={X} label={`Remove ${field.title} ${index + 1}`} onClick={() => without(index)} />
        </div>
      ))}
      <span>
        <Button icon={Plus} text="Add" onClick={add} />
      </span>
    </fieldset>
  )
}
