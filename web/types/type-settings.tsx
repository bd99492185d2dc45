import { useMemo } from 'react'
import type { ApiType, TypeBody } from '../../shared/api/types.ts'
import { configurationProblems, givenTypeRule } from '../../shared/core/rules/type-configuration.ts'
import type { FieldProblem } from '../../shared/core/values/values.ts'
import { baton } from '../api/baton.ts'
import { queries, typeQuery } from '../api/queries.ts'
import { formOf, type JsonSchema, type JsonValue } from '../publish/schema.ts'
import { SchemaForm } from '../publish/schema-form.tsx'
import { EditDialog, Sentences } from '../settings/edit-dialog.tsx'
import { limitSentences, optionSentences } from '../settings/sentences.ts'
import { only, useSettingsSchema } from '../settings/settings.ts'
import { LimitsNow } from './limits-card.tsx'

/** The parts of a type's configuration that have a button of their own. */
type Part = 'limits' | 'defaults'

type EditTypeProps = {
  readonly type: ApiType
  /** The part that is edited. @default the whole configuration */
  readonly part?: Part | undefined
  readonly onClose: () => void
}

/** Changes the configuration of a type, or a part of it. */
export function EditType({ type, part, onClose }: EditTypeProps) {
  const name = type.type
  const schema = useSettingsSchema('TypeConfiguration')
  if (schema === undefined) return null
  return (
    <EditDialog
      thing={type}
      readAgain={() => queries.fetchQuery({ ...typeQuery(name), staleTime: 0 })}
      title={`Edit ${name}`}
      label="Configuration"
      hint="Changed defaults apply to tasks published afterwards; limits and ordering apply at once."
      bodyOf={configurationOf}
      form={
        schema
          ? (body = configurationOf(type), change) => (
              <TypeForm schema={schema} part={part} body={body} onChange={change} />
            )
          : undefined
      }
      problemsOf={typeProblems}
      preview={body => <Preview type={type} body={body} part={part} />}
      run={body => baton.putType(name, body)}
      done={`${name} was changed`}
      changes={[['type', name], ['types'], ['limits', name], ['tasks']]}
      onClose={onClose}
    />
  )
}

type TypeFormProps = {
  readonly schema: JsonSchema
  readonly part: Part | undefined
  readonly body: TypeBody
  readonly onChange: (body: TypeBody) => void
}

function TypeForm({ schema, part, body, onChange }: TypeFormProps) {
  const { kind } = body
  const field = useMemo(() => formOf(only(schema, part ? [part] : membersOf(kind))), [schema, part, kind])
  return (
    field && (
      <SchemaForm
        field={field}
        value={body as JsonValue}
        onChange={changed => onChange(changed as TypeBody)}
      />
    )
  )
}

/** The members that mean something for a type of this kind. */
function membersOf(kind: TypeBody['kind']): string[] {
  const all = ['kind', 'limits', 'defaults', 'shards', 'events', 'inputSchema', 'checkInput']
  if (kind === 'flow') return [...all, 'steps', 'onCancel']
  return [...all, 'ordering', ...(kind === 'webhook' ? ['webhook'] : [])]
}

type PreviewProps = Omit<EditTypeProps, 'onClose'> & { readonly body: TypeBody }

function Preview({ type, body: { kind, limits, defaults }, part }: PreviewProps) {
  return (
    <>
      {part !== 'defaults' && <Sentences of={limitSentences(limits)} />}
      {part !== 'defaults' && <LimitsNow type={type} />}
      {part !== 'limits' && kind !== 'flow' && <Sentences of={optionSentences(defaults)} />}
    </>
  )
}

function typeProblems(body: TypeBody): readonly FieldProblem[] {
  const problems = givenTypeRule.problems(body, '')
  return problems.length > 0 ? problems : configurationProblems(body)
}

/** The configuration in an answer, in the form in which a request gives it. */
export function configurationOf(type: ApiType): TypeBody {
  const {
    type: _name,
    paused: _paused,
    purges: _purges,
    handlerSince: _handlerSince,
    otherTypes: _otherTypes,
    createdAt: _createdAt,
    updatedAt: _updatedAt,
    operations: _operations,
    revision: _revision,
    ...configuration
  } = type
  return configuration as TypeBody
}
