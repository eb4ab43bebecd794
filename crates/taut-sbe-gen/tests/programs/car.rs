// Reads the car of a file, checks what it holds, and writes it again: the same bytes. A newer
// version's encoder writes a longer block, so that only the values are compared.

use sbe::*;

fn write(car: &CarDecoder<'_>, buffer: &mut [u8]) -> Result<usize, EncodeError> {
    let mut to = CarEncoder::new(buffer)?;
    to.serial_number(car.serial_number())
        .model_year(car.model_year())
        .available(car.available())
        .code(car.code())
        .some_numbers(car.some_numbers())
        .vehicle_code(car.vehicle_code())
        .extras(car.extras())
        .engine(car.engine());
    let to = to.fuel_figures(car.fuel_figures(), |mut entry, from| {
        entry.speed(from.speed()).mpg(from.mpg());
        entry.usage_description(from.usage_description())
    })?;
    let to = to.performance_figures(car.performance_figures(), |mut entry, from| {
        entry.octane_rating(from.octane_rating());
        entry.acceleration(from.acceleration(), |entry, from| {
            entry.mph(from.mph()).seconds(from.seconds());
        })
    })?;
    let to = to.manufacturer(car.manufacturer())?.model(car.model())?;
    Ok(to.activation_code(car.activation_code())?.finish())
}

fn main() {
    let bytes = std::fs::read(std::env::args().nth(1).unwrap()).unwrap();
    let car = CarDecoder::decode(&bytes).unwrap();
    assert_eq!(car.serial_number(), 1234);
    assert_eq!(car.model_year(), 2013);
    assert_eq!(car.available(), BooleanType::T);
    assert_eq!(car.discounted_model(), Model::C);
    assert_eq!(car.vehicle_code_text(), Some("abcdef"));
    let both = OptionalExtras::SPORTS_PACK.with(OptionalExtras::CRUISE_CONTROL);
    assert!(car.extras().contains(both));
    assert!(!car.extras().contains(OptionalExtras::SUN_ROOF));
    let engine = car.engine();
    assert_eq!((engine.capacity, engine.num_cylinders, Engine::MAX_RPM), (2000, 4, 9000));
    assert_eq!((engine.manufacturer_code, Engine::FUEL), (*b"123", "Petrol"));
    assert_eq!(engine.booster.boost_type, BoostType::Nitrous);
    assert_eq!(car.fuel_figures().len(), 3);
    assert_eq!(car.fuel_figures().get(1).unwrap().usage_description_text(), Some("Combined Cycle"));
    let last = car.performance_figures().get(1).unwrap().acceleration().get(2).unwrap();
    assert_eq!((last.mph(), last.seconds()), (100, 11.8));
    assert_eq!(car.model_text(), Some("Civic VTi"));

    let mut buffer = vec![0xaa; bytes.len() + 40];
    let length = write(&car, &mut buffer).unwrap();
    assert!(buffer[length..].iter().all(|&byte| byte == 0xaa), "wrote behind the message");
    let again = CarDecoder::decode(&buffer[..length]).unwrap();
    if length == bytes.len() {
        assert_eq!(buffer[..length], bytes);
    } else {
        // The newer schema: its own fields are null.
        assert_eq!(length, bytes.len() + 17);
        assert!(again.to_string().contains("uuid: null, cupHolderCount: null"));
        assert_eq!(again.to_string(), car.to_string());
    }
    for short in 0..length {
        let mut buffer = vec![0xaa; short];
        assert_eq!(write(&car, &mut buffer), Err(EncodeError::Full));
        assert!(CarDecoder::decode(&bytes[..short.min(bytes.len() - 1)]).is_err());
    }
}
