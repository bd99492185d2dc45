import type { ApiType, TypeBody } from '../../shared/api/types.ts'

/** The configuration in an answer, in the form in which a request gives it. */
export function configurationOf(type: ApiType): TypeBody {
  const {
    type: _name,
    paused: _paused,
    handlerSince: _handlerSince,
    createdAt: _createdAt,
    updatedAt: _updatedAt,
    operations: _operations,
    revision: _revision,
    ...configuration
  } = type
  return configuration as TypeBody
}
