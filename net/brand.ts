declare const brand: unique symbol;

/** A nominal type: only the parser that checked the value may assert it. Brands can be intersected. */
export type Brand<T, Name extends string> = T & { readonly [brand]: { readonly [K in Name]: true } };
