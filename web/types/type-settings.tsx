import type { ApiType, TypeBody } from '../../shared/api/types.ts'
import { configurationProblems, givenTypeRule } from '../../shared/core/rules/type-configuration.ts'
import type { FieldProblem } from '../../shared/core/values/values.ts'
import { baton } from '../api/baton.ts'
import { queries, typeQuery } from '../api/queries.ts'
import { EditDialog, Sentences, useSchemas } from '../settings/edit-dialog.tsx'
import { limitSentences, optionSentences } from '../settings/sentences.ts'
import { only } from '../settings/settings.ts'
import { LimitsNow } from './limits-card.tsx'

type EditTypeProps = {
  readonly type: ApiType
  /** The part that is edited. @default the whole configuration */
  readonly part?: 'limits' | 'defaults'
  readonly onClose: () => void
}

export function EditType({ type, part, onClose }: EditTypeProps) {
  const name = type.type
  const schemas = useSchemas()
  if (schemas === undefined) return null
  const { TypeConfiguration: schema } = schemas
  return (
    <EditDialog
      thing={type}
      readAgain={() => queries.fetchQuery({ ...typeQuery(name), staleTime: 0 })}
      title={`Edit ${name}`}
      label="Configuration"
      hint="Changed defaults apply to tasks published afterwards; limits and ordering apply at once."
      schemaOf={({ kind }) =>
        schema && { ...only(schema, part ? [part] : membersOf(kind)), required: [part] }
      }
      bodyOf={configurationOf}
      problemsOf={typeProblems}
      preview={({ kind, limits, defaults }) => (
        <>
          {part !== 'defaults' && <Sentences of={limitSentences(limits)} />}
          {part !== 'defaults' && <LimitsNow type={type} />}
          {part !== 'limits' && <Sentences of={optionSentences(kind, defaults ?? {})} />}
        </>
      )}
      run={body => baton.putType(name, body)}
      done={`${name} was changed`}
      changes={[['type', name], ['types'], ['limits', name], ['tasks']]}
      onClose={onClose}
    />
  )
}

/** The members that mean something for a type of this kind. */
function membersOf(kind: TypeBody['kind']): string[] {
  const all = ['kind', 'limits', 'defaults', 'shards', 'events', 'inputSchema', 'checkInput']
  if (kind === 'flow') return [...all, 'steps', 'onCancel']
  return [...all, 'ordering', ...(kind === 'webhook' ? ['webhook'] : [])]
}

function typeProblems(body: TypeBody): readonly FieldProblem[] {
  const problems = givenTypeRule.problems(body, '')
  return problems.length > 0 ? problems : configurationProblems(body)
}

const SET_BY_THE_SYSTEM = [
  ...(['type', 'paused', 'purges', 'handlerSince', 'otherTypes', 'createdAt', 'updatedAt'] as const),
  ...(['operations', 'revision'] as const),
]

/** The configuration in an answer, in the form in which a request gives it. */
export function configurationOf(type: ApiType): TypeBody {
  const isGiven = ([name]: [string, unknown]) => !SET_BY_THE_SYSTEM.some(other => other === name)
  return Object.fromEntries(Object.entries(type).filter(isGiven)) as TypeBody
}
