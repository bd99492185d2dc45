type Given<Members> = { [Name in keyof Members]?: Exclude<Members[Name], undefined> }

/** The members that are not undefined. */
export function given<Members extends object>(members: Members): Given<Members> {
  return Object.fromEntries(
    Object.entries(members).filter(([, member]) => member !== undefined),
  ) as Given<Members>
}
