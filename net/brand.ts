declare const brand: unique symbol;

/** A nominal type: only the parser that checked the value may assert it. */
export type Brand<T, Name extends string> = T & { readonly [brand]: Name };
