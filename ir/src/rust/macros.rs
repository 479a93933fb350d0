//! `code!`, which builds code trees from Rust syntax.

/// Builds code from Rust syntax with interpolation: `#x` for any type that implements [`ToCode`], `#(#x),*` for
/// several.
///
/// `&#x` and methods that only borrow their receiver borrow the value that `#x` uses. All other uses take it. `device`
/// and `weights` are the parameters with these names.
macro_rules! code {
    ($($tokens:tt)*) => {{
        #[allow(unused_mut)]
        let mut made = $crate::rust::Builder::default();
        $crate::rust::pieces!(made $($tokens)*);
        made.finish()
    }};
}

/// Expands to the statements that build the input of `code!`, piece by piece.
macro_rules! pieces {
    ($m:ident) => {};

    // Repetitions.
    ($m:ident # (#$x:ident) * $($rest:tt)*) => {
        $crate::rust::pieces!(@each $m $x "" [] []);
        $crate::rust::pieces!($m $($rest)*);
    };
    ($m:ident # (#$x:ident) , * $($rest:tt)*) => {
        $crate::rust::pieces!(@each $m $x "," [] []);
        $crate::rust::pieces!($m $($rest)*);
    };
    ($m:ident # (#$x:ident,) * $($rest:tt)*) => {
        $crate::rust::pieces!(@each $m $x "" [] [,]);
        $crate::rust::pieces!($m $($rest)*);
    };
    ($m:ident # (, #$x:ident) * $($rest:tt)*) => {
        $crate::rust::pieces!(@each $m $x "" [,] []);
        $crate::rust::pieces!($m $($rest)*);
    };
    (@each $m:ident $x:ident $between:literal [$($before:tt)*] [$($behind:tt)*]) => {{
        #[allow(unused_imports)]
        use $crate::rust::{Items as _, Iterated as _};
        $m.each($x.items(), $between, |$m, one| {
            $crate::rust::pieces!($m $($before)* #one $($behind)*);
        });
    }};

    // Uses of values.
    ($m:ident &mut #$x:ident $($rest:tt)*) => {
        $m.sign("&");
        $m.word("mut");
        $m.borrow(&$x);
        $crate::rust::pieces!($m $($rest)*);
    };
    ($m:ident &#$x:ident.$($rest:tt)*) => {
        $m.sign("&");
        $crate::rust::pieces!($m #$x.$($rest)*);
    };
    ($m:ident &#$x:ident $($rest:tt)*) => {
        $m.sign("&");
        $m.borrow(&$x);
        $crate::rust::pieces!($m $($rest)*);
    };
    ($m:ident #$x:ident.$method:ident($($arguments:tt)*) $($rest:tt)*) => {
        $m.receiver(&$x, stringify!($method));
        $crate::rust::pieces!($m .$method($($arguments)*) $($rest)*);
    };
    ($m:ident .$method:ident($($arguments:tt)*) $($rest:tt)*) => {
        $m.method(stringify!($method), $crate::rust::code!($($arguments)*));
        $crate::rust::pieces!($m $($rest)*);
    };

    // Statements.
    ($m:ident if let $variant:ident ($name:ident) = $($rest:tt)*) => {
        $m.word("if");
        $m.word("let");
        $m.word(stringify!($variant));
        $m.round($crate::rust::code!($name));
        $m.sign("=");
        $crate::rust::pieces!($m $($rest)*);
    };
    ($m:ident let $($rest:tt)*) => {
        $crate::rust::pieces!(@pattern $m [] $($rest)*);
    };
    (@pattern $m:ident [$($pattern:tt)*] = $($rest:tt)*) => {
        $crate::rust::pieces!(@value $m bind [$($pattern)*] [] $($rest)*);
    };
    (@pattern $m:ident [$($pattern:tt)*] $next:tt $($rest:tt)*) => {
        $crate::rust::pieces!(@pattern $m [$($pattern)* $next] $($rest)*);
    };
    (@value $m:ident $kind:ident [$($pattern:tt)*] [$($value:tt)*] ; $($rest:tt)*) => {
        $m.$kind($crate::rust::code!($($pattern)*), $crate::rust::code!($($value)*));
        $crate::rust::pieces!($m $($rest)*);
    };
    (@value $m:ident $kind:ident [$($pattern:tt)*] [$($value:tt)*] $next:tt $($rest:tt)*) => {
        $crate::rust::pieces!(@value $m $kind [$($pattern)*] [$($value)* $next] $($rest)*);
    };
    ($m:ident #$x:ident = $($rest:tt)*) => {
        $crate::rust::pieces!(@value $m assign [#$x] [] $($rest)*);
    };
    ($m:ident ($($target:tt)*) = $($rest:tt)*) => {
        $crate::rust::pieces!(@value $m assign [($($target)*)] [] $($rest)*);
    };
    ($m:ident for $pattern:tt in $($rest:tt)*) => {
        $crate::rust::pieces!(@for $m [$pattern] [] $($rest)*);
    };
    ($m:ident for #$x:ident in $($rest:tt)*) => {
        $crate::rust::pieces!(@for $m [#$x] [] $($rest)*);
    };
    (@for $m:ident [$($pattern:tt)*] [$($range:tt)*] { $($body:tt)* } $($rest:tt)*) => {
        $m.repeat_for(
            $crate::rust::code!($($pattern)*),
            $crate::rust::code!($($range)*),
            $crate::rust::code!($($body)*),
        );
        $crate::rust::pieces!($m $($rest)*);
    };
    (@for $m:ident [$($pattern:tt)*] [$($range:tt)*] $next:tt $($rest:tt)*) => {
        $crate::rust::pieces!(@for $m [$($pattern)*] [$($range)* $next] $($rest)*);
    };
    ($m:ident while #$x:ident { $($body:tt)* } $($rest:tt)*) => {
        $m.repeat_while($crate::rust::code!(#$x), $crate::rust::code!($($body)*));
        $crate::rust::pieces!($m $($rest)*);
    };
    ($m:ident loop { $($body:tt)* } $($rest:tt)*) => {
        $m.repeat($crate::rust::code!($($body)*));
        $crate::rust::pieces!($m $($rest)*);
    };

    // Everything else.
    ($m:ident #$x:ident $($rest:tt)*) => {
        $m.add(&$x);
        $crate::rust::pieces!($m $($rest)*);
    };
    ($m:ident .$name:ident $($rest:tt)*) => {
        $m.sign(".");
        $m.member(stringify!($name));
        $crate::rust::pieces!($m $($rest)*);
    };
    ($m:ident ::$name:ident $($rest:tt)*) => {
        $m.sign("::");
        $m.member(stringify!($name));
        $crate::rust::pieces!($m $($rest)*);
    };
    ($m:ident $name:ident: #$x:ident) => {
        $m.entry(stringify!($name), &$x);
    };
    ($m:ident $name:ident: #$x:ident, $($rest:tt)*) => {
        $m.entry(stringify!($name), &$x);
        $m.sign(",");
        $crate::rust::pieces!($m $($rest)*);
    };
    ($m:ident $name:ident : $($rest:tt)*) => {
        $m.member(stringify!($name));
        $m.sign(":");
        $crate::rust::pieces!($m $($rest)*);
    };
    ($m:ident device($($arguments:tt)*) $($rest:tt)*) => {
        $m.word("device");
        $m.round($crate::rust::code!($($arguments)*));
        $crate::rust::pieces!($m $($rest)*);
    };
    ($m:ident device $($rest:tt)*) => {
        $m.device();
        $crate::rust::pieces!($m $($rest)*);
    };
    ($m:ident weights $($rest:tt)*) => {
        $m.weights();
        $crate::rust::pieces!($m $($rest)*);
    };
    ($m:ident _ $($rest:tt)*) => {
        $m.word("_");
        $crate::rust::pieces!($m $($rest)*);
    };
    ($m:ident $word:ident $($rest:tt)*) => {
        $m.word(stringify!($word));
        $crate::rust::pieces!($m $($rest)*);
    };
    ($m:ident ($($inside:tt)*) $($rest:tt)*) => {
        $m.round($crate::rust::code!($($inside)*));
        $crate::rust::pieces!($m $($rest)*);
    };
    ($m:ident [$($inside:tt)*] $($rest:tt)*) => {
        $m.square($crate::rust::code!($($inside)*));
        $crate::rust::pieces!($m $($rest)*);
    };
    ($m:ident { $($inside:tt)* } $($rest:tt)*) => {
        $m.curly($crate::rust::code!($($inside)*));
        $crate::rust::pieces!($m $($rest)*);
    };
    ($m:ident - $($rest:tt)*) => {
        $m.sign("-");
        $crate::rust::pieces!($m $($rest)*);
    };
    ($m:ident $lifetime:lifetime $($rest:tt)*) => {
        $m.lifetime(stringify!($lifetime));
        $crate::rust::pieces!($m $($rest)*);
    };
    ($m:ident $literal:literal $($rest:tt)*) => {
        $m.literal(stringify!($literal));
        $crate::rust::pieces!($m $($rest)*);
    };
    ($m:ident $sign:tt $($rest:tt)*) => {
        $m.sign(stringify!($sign));
        $crate::rust::pieces!($m $($rest)*);
    };
}

pub(crate) use {code, pieces};

#[cfg(test)]
mod tests {
    use proc_macro2::Literal;

    use crate::rust::{Access, Code, CodeNode, Size, Variable};

    fn check(code: Code, expected: &str) {
        assert_eq!(code.tokens().to_string(), expected);
    }

    #[test]
    fn holes_are_filled() {
        let (x, name, number) = (Variable(1), "n", Literal::usize_unsuffixed(3));
        let none: Option<Code> = None;
        let list = [Variable(2), Variable(3)];
        let doubled = list.iter().map(|x| code!(2.0 * #x));
        check(
            code!(f::<#number>(#x #none, #name, [#(#list),*], -#number, #(#doubled,)*)),
            "f :: < 3 > (__v1 , \"n\" , [__v2 , __v3] , - 3 , 2.0 * __v2 , 2.0 * __v3 ,)",
        );
    }

    #[test]
    fn statements_are_parts_of_their_own() {
        let (x, y, size) = (Variable(1), Variable(2), Size(0));
        let code = code! {
            let mut #x = f(#y, 'a', S { a: 1 });
            for #size in 0..4usize { #x = g(#x); }
            for _ in 0..2 { (#x, #y) = (#y, #x); }
            while #y { break; }
            loop { let [a, _] = #x; }
            #x
        };
        let kinds =
            |part: &CodeNode| matches!(part, CodeNode::Let(..) | CodeNode::Loop(_) | CodeNode::Value(..));
        assert!(code.parts().iter().all(kinds) && code.parts().len() == 6);
        check(
            code,
            "let mut __v1 = f (__v2 , 'a' , S { a : 1 }) ; for __s0 in 0 .. 4usize { __v1 = g (__v1) ; } \
             for _ in 0 .. 2 { (__v1 , __v2) = (__v2 , __v1) ; } while __v2 { break ; } \
             loop { let [a , _] = __v1 ; } __v1",
        );
    }

    #[test]
    fn a_pattern_is_part_of_a_condition() {
        let x = Variable(1);
        let code = code! {
            if let Some(y) = f(#x) { return y; }
            #x
        };
        check(code, "if let Some (y) = f (__v1) { return y ; } __v1");
    }

    #[test]
    fn looking_at_a_value_borrows_it() {
        let x = Variable(1);
        let accesses = |code: Code| {
            let mut found = Vec::new();
            code.each_part(&mut |part| {
                if let CodeNode::Value(_, access) = part {
                    found.push(*access == Access::Borrow);
                }
            });
            found
        };
        assert_eq!(accesses(code!(f(&#x, &mut #x, #x.dims(), &#x.data()))), [true; 4]);
        assert_eq!(accesses(code!(f(#x, #x.reshape(#x), &#x.neg(), #x.0))), [false; 5]);
    }
}
